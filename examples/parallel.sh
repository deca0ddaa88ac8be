#!/usr/bin/env bash
# A sweep under GNU parallel, in seven shards, on this machine or with --sshlogin on others. Shards
# that failed run again with --resume-failed.
set -euo pipefail
parallel --joblog sweep.log \
    befit-sweep sweep grid.toml --shard {}/7 --threads 1 -o part-{}.parquet ::: 1 2 3 4 5 6 7
befit-sweep merge part-*.parquet -o results.parquet
