"""The fields of a protobuf message, a line each, without its schema."""


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def numbers(data):
    at, found = 0, []
    while at < len(data):
        value, at = varint(data, at)
        found.append(str(value))
    return " ".join(found)


def shown(data):
    """Bytes as text, as a message, or as the packed numbers that they must be else."""
    if all(32 <= byte < 127 for byte in data):
        return repr(data.decode())
    try:
        return "{" + ", ".join(fields(data)) + "}"
    except (IndexError, ValueError):
        return f"[{numbers(data)}]"


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield f"{key >> 3}: {value}"
        elif key & 7 == 2 and key >> 3:
            length, at = varint(data, at)
            if at + length > len(data):
                raise ValueError
            yield f"{key >> 3}: {shown(data[at:at + length])}"
            at += length
        else:
            raise ValueError


def text(data):
    return "".join(line + "\n" for line in fields(data))
