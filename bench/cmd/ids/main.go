// SPDX-License-Identifier: Apache-2.0

// Command ids compares generators of IDs with their budgets and with other
// libraries, and prints the results.
//
//	go run ./cmd/ids                       # everything, some two minutes
//	go run ./cmd/ids -run next/next-4      # one contest
//	go run ./cmd/ids -write ../docs/benchmarks-parts.md
package main

import (
	"github.com/kazahana-db/kazahana/bench/ids"
	"github.com/kazahana-db/kazahana/bench/measure"
)

func main() { measure.Command("ids", ids.Stages()) }
