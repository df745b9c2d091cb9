#!/usr/bin/env python3
"""Turn files into a C table: embed.py OUT.c NAME=PATH ..."""
import sys


def array(index, path):
    data = open(path, "rb").read() + b"\0"
    rows = [", ".join(str(b) for b in data[i : i + 20]) for i in range(0, len(data), 20)]
    return "static const unsigned char file_%d[] = {\n%s\n};\n" % (index, ",\n".join(rows))


def main(out, pairs):
    files = [p.split("=", 1) for p in pairs]
    with open(out, "w") as f:
        f.write('#include "base/data.h"\n\n')
        for i, (_, path) in enumerate(files):
            f.write(array(i, path))
        f.write("const struct hes_data_entry hes_data_table[] = {\n")
        for i, (name, _) in enumerate(files):
            f.write('{ "%s", file_%d, sizeof(file_%d) - 1 },\n' % (name, i, i))
        f.write("};\nconst size_t hes_data_count = %d;\n" % len(files))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
