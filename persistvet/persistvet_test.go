// SPDX-License-Identifier: Apache-2.0

package persistvet

import (
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// TestAnalyzers runs each analyzer on the package that has its name in testdata/src.
// Comments there say what it must report, and by that what it must not; the
// golden file of each has the source with all fixes.
func TestAnalyzers(t *testing.T) {
	var names []string
	for _, a := range rules {
		names = append(names, a.Name)
	}
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), joined(), names...)
}

// TestIgnores runs the analyzer of comments, together with those that they silence.
func TestIgnores(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), ignores, "ignores")
}

// TestAnalyzersAreComplete checks that the list has each rule and the analyzer of
// comments, and that go/analysis accepts it.
func TestAnalyzersAreComplete(t *testing.T) {
	all := Analyzers()
	if err := analysis.Validate(all); err != nil {
		t.Error(err)
	}
	if want := len(rules) + 1; len(all) != want {
		t.Errorf("%d analyzers, want %d", len(all), want)
	}
	for _, a := range all {
		if !strings.HasSuffix(a.URL, "#"+a.Name) {
			t.Errorf("%s has the URL %q, want the section of docs/persistvet.md with its name", a.Name, a.URL)
		}
	}
}

// joined returns an analyzer that reports what those of all rules report, each in the package with its
// name: so the packages and Go's library are loaded once.
func joined() *analysis.Analyzer {
	found := new(findings)
	all := &analysis.Analyzer{Name: "all", Doc: "report what all analyzers do", Run: func(pass *analysis.Pass) (any, error) {
		for _, d := range found.of(pass) {
			pass.Report(d)
		}
		return nil, nil
	}}
	for _, a := range rules {
		all.Requires = append(all.Requires, found.collect(a))
	}
	return all
}

// findings are the diagnostics of several analyzers.
type findings struct {
	mu  sync.Mutex
	all map[string][]analysis.Diagnostic // by package
}

// collect returns a copy of an analyzer that keeps its diagnostics.
func (f *findings) collect(a *analysis.Analyzer) *analysis.Analyzer {
	c := *a
	c.Run = func(pass *analysis.Pass) (any, error) {
		own := *pass
		own.Report = func(d analysis.Diagnostic) {
			if pass.Pkg.Path() == a.Name {
				f.add(a.Name, d)
			}
		}
		return a.Run(&own)
	}
	return &c
}

func (f *findings) add(pkg string, d analysis.Diagnostic) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string][]analysis.Diagnostic{}
	}
	f.all[pkg] = append(f.all[pkg], d)
}

func (f *findings) of(pass *analysis.Pass) []analysis.Diagnostic {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[pass.Pkg.Path()]
}
