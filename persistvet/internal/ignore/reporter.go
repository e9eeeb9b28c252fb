// SPDX-License-Identifier: Apache-2.0

package ignore

import (
	"go/token"
	"reflect"

	"golang.org/x/tools/go/analysis"
)

// Uses has the positions of the comments that silenced a finding of an analyzer.
type Uses map[token.Pos]bool

// UsesType is the type of the result of analyzers that report by a [Reporter].
var UsesType = reflect.TypeFor[Uses]()

// Reporter reports the findings of an analyzer that no comment silences. It reports
// none in generated files: their generator is to be mended, not they.
type Reporter struct {
	Uses Uses

	pass     *analysis.Pass
	comments *Comments
}

// NewReporter returns the reporter of an analyzer that requires [Analyzer].
func NewReporter(pass *analysis.Pass) *Reporter {
	return &Reporter{Uses: Uses{}, pass: pass, comments: pass.ResultOf[Analyzer].(*Comments)}
}

// Report reports a finding, or notes the comment that silences it.
func (r *Reporter) Report(d analysis.Diagnostic) {
	if comment := r.comments.at(r.pass.Analyzer.Name, d.Pos); comment != nil {
		r.Uses[comment.Pos] = true
		return
	}
	if !r.comments.generated[r.pass.Fset.Position(d.Pos).Filename] {
		r.pass.Report(d)
	}
}
