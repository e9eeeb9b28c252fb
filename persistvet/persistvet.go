// SPDX-License-Identifier: Apache-2.0

// Package persistvet has analyzers for programs that use Kazahana or FoundationDB's Go
// binding. They know what a retry loop does: it runs a function again.
//
// The command runs them all, by itself or in go vet:
//
//	go tool persistvet ./...
//	go vet -vettool=$(go tool -n persistvet) ./...
//
// A program that runs analyzers of several authors takes them from [Analyzers]:
//
//	multichecker.Main(append(persistvet.Analyzers(), others...)...)
//
// docs/persistvet.md explains each rule, with what is wrong, what is right, and how to
// silence a finding.
package persistvet

import (
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet/internal/freshvalue"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/losterror"
	"github.com/kazahana-db/kazahana/persistvet/internal/outsidetx"
	"github.com/kazahana-db/kazahana/persistvet/internal/retryeffect"
	"github.com/kazahana-db/kazahana/persistvet/internal/txescape"
	"github.com/kazahana-db/kazahana/persistvet/internal/unindexed"
	"golang.org/x/tools/go/analysis"
)

// Analyzers returns all analyzers: one for each rule, and the one that checks the comments
// which silence findings. The slice is the caller's.
func Analyzers() []*analysis.Analyzer {
	return append(slices.Clone(rules), ignores)
}

// rules are the analyzers that a comment can silence.
var rules = []*analysis.Analyzer{
	freshvalue.Analyzer, retryeffect.Analyzer, losterror.Analyzer, txescape.Analyzer, outsidetx.Analyzer, unindexed.Analyzer,
}

// ignores reports comments that silence nothing, or do not say why.
var ignores = &analysis.Analyzer{
	Name: "ignores",
	Doc: `report ignore comments that silence nothing, or do not say why

A comment is //persistvet:ignore, the name of an analyzer, and the reason. It silences the
findings of its line, or of the next line if it stands alone.`,
	URL:      "https://github.com/kazahana-db/kazahana/blob/main/docs/persistvet.md#ignores",
	Requires: append([]*analysis.Analyzer{ignore.Analyzer}, rules...),
	Run:      checkIgnores,
}

func checkIgnores(pass *analysis.Pass) (any, error) {
	for _, c := range pass.ResultOf[ignore.Analyzer].(*ignore.Comments).All {
		if fault := faultOf(pass, c); fault != "" {
			pass.Report(analysis.Diagnostic{Pos: c.Pos, Message: fault})
		}
	}
	return nil, nil
}

// faultOf says what is wrong with a comment, "" if nothing is.
func faultOf(pass *analysis.Pass, c *ignore.Comment) string {
	rule := findRule(c.Rule)
	switch {
	case rule == nil:
		return "the comment names no analyzer of persistvet: write " + ignore.Prefix + ", one of " + ruleNames() + ", and the reason"
	case c.Reason == "":
		return "the comment gives no reason: say after " + c.Rule + " why the finding is not a fault"
	case !pass.ResultOf[rule].(ignore.Uses)[c.Pos]:
		return "the comment silences nothing: " + c.Rule + " finds no fault here. Remove it"
	}
	return ""
}

func findRule(name string) *analysis.Analyzer {
	for _, a := range rules {
		if a.Name == name {
			return a
		}
	}
	return nil
}

func ruleNames() string {
	var all []string
	for _, a := range rules {
		all = append(all, a.Name)
	}
	return strings.Join(all, ", ")
}
