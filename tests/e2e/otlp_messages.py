"""A request to a collector of OpenTelemetry, on standard input, as the format's own messages (package
opentelemetry-proto) read it: JSON of types, resource, and build ids. Fields that they do not know are an error."""
import gzip
import json
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest


def check(message):
    assert len(UnknownFieldSet(message)) == 0, message.DESCRIPTOR.full_name
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "ListFields") else value:
                check(part)


def main():
    request = ExportProfilesServiceRequest.FromString(gzip.decompress(sys.stdin.buffer.read()))
    check(request)
    tables, texts = request.dictionary, request.dictionary.string_table
    for table in (tables.mapping_table, tables.location_table, tables.function_table, tables.link_table,
                  tables.stack_table, tables.attribute_table):
        assert table[0] == type(table[0])()
    assert texts[0] == ""
    attributes = lambda indices: {texts[tables.attribute_table[at].key_strindex]:
                                  tables.attribute_table[at].value.string_value for at in indices}
    names = [texts[function.name_strindex] for function in tables.function_table]
    locations = [[names[line.function_index] for line in location.lines] for location in tables.location_table]
    stacks = [[name for at in reversed(stack.location_indices) for name in reversed(locations[at])]
              for stack in tables.stack_table]
    [resource] = request.resource_profiles
    [scope] = resource.scope_profiles
    json.dump({
        "types": {texts[profile.sample_type.type_strindex]: [
            texts[profile.sample_type.unit_strindex],
            [[stacks[sample.stack_index], sum(sample.values)] for sample in profile.samples]]
            for profile in scope.profiles},
        "times": [[profile.time_unix_nano, profile.duration_nano] for profile in scope.profiles],
        "resource": {pair.key: pair.value.string_value or pair.value.int_value
                     for pair in resource.resource.attributes},
        "build_ids": {texts[mapping.filename_strindex]: attributes(mapping.attribute_indices).get(
            "process.executable.build_id.gnu", "") for mapping in tables.mapping_table[1:]},
        "frames": [attributes(location.attribute_indices) for location in tables.location_table[1:]]}, sys.stdout)


if __name__ == "__main__":
    main()
