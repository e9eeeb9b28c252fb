#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a program of FoundationDB's binding tester and what it must log.

usage: record.py BINDINGS CLUSTER_FILE TESTER TEST SEED OPS BITS OUTPUT.gz

BINDINGS is the folder bindings of FoundationDB's sources, of release 7.3, with
the Python binding generated, and TESTER one of those that known_testers.py
names: the reference. The database of the cluster is overwritten. Each line of
the output is a pair in hexadecimal: one of the database before the program
runs, or one that the reference has logged ("before", "after").
"""

import argparse
import gzip
import random
import sys


def pairs(db, begin, end):
    while True:
        page = list(db.get_range(begin, end, 1000))
        yield from page
        if len(page) < 1000:
            return
        begin = page[-1].key + b"\x00"


def main(bindings, cluster, tester, test, seed, ops, bits, output):
    sys.path[:0] = [bindings, bindings + "/bindingtester", bindings + "/python"]
    import bindingtester.bindingtester as bindingtester

    argv = [tester, "--test-name", test, "--num-ops", ops, "--seed", seed, "--max-int-bits", bits]
    argv += ["--api-version", "730", "--no-tenants", "--cluster-file", cluster]
    args = bindingtester.parse_args(argv)
    random.seed(args.seed)
    runner = bindingtester.TestRunner(args)
    runner._insert_instructions(runner._generate_test())
    runner.test.pre_run(runner.db, runner.args)
    lines = ["# %s, seed %s, %s operations, integers of %s bits, API version 730, by %s" % (test, seed, ops, bits, tester)]
    lines += ["before %s %s" % (p.key.hex(), p.value.hex()) for p in pairs(runner.db, b"", b"\xff")]
    if runner._run_tester(runner.testers[0]) != 0:
        sys.exit("the reference failed")
    for spec in runner.test.get_result_specifications():
        r = spec.subspace.range()
        for p in pairs(runner.db, r.start, r.stop):
            if spec.matches_global_error_filter(p.value):
                sys.exit("the program met an error that depends on time: record another seed")
            lines.append("after %s %s" % (p.key.hex(), p.value.hex()))
    with open(output, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as out:
        out.write(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["bindings", "cluster", "tester", "test", "seed", "ops", "bits", "output"]:
        parser.add_argument(name)
    main(**vars(parser.parse_args()))
