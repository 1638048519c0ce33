#!/bin/sh
# The demonstration of `make demo`: runs the example kernels, then checks one that has mistakes.
# usage: demo.sh [PTOKIT], where PTOKIT is the command to use
set -eu
ptokit=${1:-ptokit}
kernels=$(dirname "$0")/pto

show() {
  printf '\n$ ptokit'
  for word in "$@"; do printf ' %s' "$word"; done
  printf '\n'
  "$ptokit" "$@"
}

show run "$kernels/softmax.pto" --target a2a3 --blocks 4 --arg random:f32:200x512 --arg zeros:f32:200x512 --arg 200
show run "$kernels/gemm.pto" --target a5 --blocks 4 \
  --arg random:f16:256x512 --arg random:f16:512x256 --arg zeros:f32:256x256 --arg 256 --arg 512 --arg 256

printf '\nAnd a kernel with mistakes; each finding has a rule that "ptokit explain" tells more about:\n'
show check "$kernels/faulty.pto" --target a2a3 || test $? -eq 1

printf '\nAnd one whose instructions are legal but whose flags do not suffice:\n'
show sanitize "$kernels/racy.pto" --target a2a3 --arg random:f32:64x256 --arg uninit:f32:64x256 --arg 4 || test $? -eq 1
