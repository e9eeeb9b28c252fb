// SPDX-License-Identifier: Apache-2.0

// Command placement compares the lookup of virtual actors with protoactor-go's, and
// prints the results.
//
//	go run ./cmd/placement                      # everything, about a minute
//	go run ./cmd/placement -run lookup/local-1  # one contest
//	go run ./cmd/placement -write ../docs/benchmarks-parts.md
package main

import (
	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/bench/placement"
)

func main() { measure.Command("placement", placement.Stages()) }
