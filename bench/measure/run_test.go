// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"regexp"
	"strings"
	"testing"
)

// TestRunnerMatchesNothing: if a chosen stage or contest does not exist, the error lists those
// that do.
func TestRunnerMatchesNothing(t *testing.T) {
	stages := []Stage{
		{Name: "commits", Open: func(string) (*Set, error) { return named("commit-1", "commit-64"), nil }},
		{Name: "reads", Open: func(string) (*Set, error) { return named("get-1"), nil }},
	}
	for _, test := range []struct {
		stages, contests string
		want             []string
	}{
		{"settled", "", []string{`"settled"`, "commits", "reads"}},
		{"comm", "get", []string{`"get"`, "commit-1", "commit-64"}},
		{"", "scan", []string{`"scan"`, "commit-1", "commit-64", "get-1"}},
	} {
		r := Runner{Dir: t.TempDir(), Stages: regexp.MustCompile(test.stages), Contests: regexp.MustCompile(test.contests)}
		results, err := r.Run(stages)
		if err == nil {
			t.Errorf("-run %s/%s: no error, results %v", test.stages, test.contests, results)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("-run %s/%s: %v; want %s in it", test.stages, test.contests, err, want)
			}
		}
	}
	r := Runner{Dir: t.TempDir(), Contests: regexp.MustCompile("loaded")}
	if results, err := r.Run(stages[1:]); err != nil || len(results) != 1 {
		t.Errorf("what opening has measured is asked for: %v, %v", results, err)
	}
}

// named returns contests with those names, which never run, and one that
// opening has measured.
func named(names ...string) *Set {
	s := &Set{Close: func() error { return nil }, Measured: []Result{{Contest: Contest{Name: "loaded"}}}}
	for _, name := range names {
		s.Contests = append(s.Contests, Contest{Name: name})
	}
	return s
}
