// SPDX-License-Identifier: Apache-2.0

package persistvet_test

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet"
)

// A program that runs analyzers gives these to multichecker.Main or unitchecker.Main.
func ExampleAnalyzers() {
	for _, a := range persistvet.Analyzers() {
		about, _, _ := strings.Cut(a.Doc, "\n")
		fmt.Println(a.Name+":", about)
	}
	// Output:
	// freshvalue: report ids, clocks and random numbers that a transaction function takes
	// retryeffect: report effects of a transaction function that a retry repeats
	// losterror: report errors of the engine that the retry loop does not see
	// txescape: report transactions, futures and directories that outlive their transaction
	// outsidetx: report what a transaction function reads and writes outside of its transaction
	// unindexed: report queries by fields that no index serves
	// ignores: report ignore comments that silence nothing, or do not say why
}
