#!/bin/sh
# sh deploy/fetch_and_compare.sh USER@HOST:JOB_FOLDER [MODEL.pt], on your own machine: copies the results here and compares them.
set -eu
from=${1:?usage: fetch_and_compare.sh USER@HOST:JOB_FOLDER [MODEL.pt]}
model=${2:-}
scp "$from/results.h5" "$from/results.profile.json" . || scp "$from/results.h5" .
if [ -n "$model" ]; then
    exec fsnn-compare results.h5 --model "$model" --report report.html
fi
exec fsnn-compare results.h5 --report report.html
