// SPDX-License-Identifier: Apache-2.0

package persistvet

import (
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/kazahana-db/kazahana/persistvet/ignores"
)

// Analyzers returns all analyzers: one for each rule, and the one that checks the comments
// which silence findings. The slice is the caller's.
func Analyzers() []*analysis.Analyzer {
	return append(slices.Clone(ignores.Rules), ignores.Analyzer)
}
