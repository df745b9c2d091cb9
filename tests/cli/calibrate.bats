#!/usr/bin/env bats
# heshare-calibrate on a measured board
