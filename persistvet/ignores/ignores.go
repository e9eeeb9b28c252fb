// SPDX-License-Identifier: Apache-2.0

package ignores

import (
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/kazahana-db/kazahana/persistvet/freshvalue"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/losterror"
	"github.com/kazahana-db/kazahana/persistvet/outsidetx"
	"github.com/kazahana-db/kazahana/persistvet/retryeffect"
	"github.com/kazahana-db/kazahana/persistvet/txescape"
	"github.com/kazahana-db/kazahana/persistvet/unindexed"
)

// Rules are the analyzers whose findings a comment can silence.
var Rules = []*analysis.Analyzer{
	freshvalue.Analyzer, retryeffect.Analyzer, losterror.Analyzer, txescape.Analyzer, outsidetx.Analyzer, unindexed.Analyzer,
}

// Analyzer reports comments that silence nothing, or do not say why.
var Analyzer = &analysis.Analyzer{
	Name: "ignores",
	Doc: `report ignore comments that silence nothing, or do not say why

A comment is //persistvet:ignore, the name of an analyzer, and the reason. It silences the
findings of its line, or of the next line if it stands alone.`,
	URL:      "https://github.com/kazahana-db/kazahana/blob/main/docs/persistvet.md#ignores",
	Requires: append([]*analysis.Analyzer{ignore.Analyzer}, Rules...),
	Run:      run,
}

func run(pass *analysis.Pass) (any, error) {
	for _, c := range pass.ResultOf[ignore.Analyzer].(*ignore.Comments).All {
		if fault := fault(pass, c); fault != "" {
			pass.Report(analysis.Diagnostic{Pos: c.Pos, Message: fault})
		}
	}
	return nil, nil
}

// fault says what is wrong with a comment, "" if nothing is.
func fault(pass *analysis.Pass, c *ignore.Comment) string {
	rule := find(c.Rule)
	switch {
	case rule == nil:
		return "the comment names no analyzer of persistvet: write " + ignore.Prefix + ", one of " + names() + ", and the reason"
	case c.Reason == "":
		return "the comment gives no reason: say behind " + c.Rule + " why the finding is no fault"
	case !pass.ResultOf[rule].(ignore.Uses)[c.Pos]:
		return "the comment silences nothing: " + c.Rule + " finds no fault here. Remove it"
	}
	return ""
}

func find(name string) *analysis.Analyzer {
	for _, a := range Rules {
		if a.Name == name {
			return a
		}
	}
	return nil
}

func names() string {
	var all []string
	for _, a := range Rules {
		all = append(all, a.Name)
	}
	return strings.Join(all, ", ")
}
