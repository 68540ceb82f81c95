-- Work for lua that is the same each time: no table has addresses as keys, and no sort has more than 100 elements,
-- whose pivot would be taken from the clock.
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(20))
local words = {}
for i = 1, 2000 do words[#words + 1] = string.format("%05d-%x", i * 7919 % 2003, i) end
for i = 1, #words, 50 do
  local part = {table.unpack(words, i, i + 49)}
  table.sort(part)
  words[i] = table.concat(part, ",")
end
local text = table.concat(words, "\n")
print(#text, select(2, text:gsub("%d+%-", function(s) return s:reverse() end)))
local count = 0
for w in text:gmatch("[%w%-]+") do count = count + #w end
print(count)
local f = assert(load("local t = {} for i = 1, 500 do t[i] = i * i end return #t, t[500]"))
print(f())
local co = coroutine.wrap(function() for i = 1, 100 do coroutine.yield(i) end end)
local s = 0
for i = 1, 100 do s = s + co() end
print(s, pcall(error, "x"), pcall(function() error("y") end))
collectgarbage()
print(string.pack("<i4d", 7, 1.5):byte(1, 4))
print(utf8.char(228, 8364), math.tointeger(3.0), tostring(1e15), ("%5.2f"):format(2.5))
