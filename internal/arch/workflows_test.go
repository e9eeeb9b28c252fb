// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// workflow is a file of .github/workflows.
type workflow struct {
	path, text string
}

func workflows(t *testing.T) []workflow {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(paths) < 2 {
		t.Fatalf("found the workflows %q: %v", paths, err)
	}
	var all []workflow
	for _, path := range paths {
		path, _ = filepath.Rel(root, path)
		all = append(all, workflow{path, read(t, path)})
	}
	return all
}

// targets returns what make is called for: in commands, and in the matrix of jobs.
func (w *workflow) targets() []string {
	var all []string
	for _, found := range regexp.MustCompile(`(?m)run: make ([a-z-]+)`).FindAllStringSubmatch(w.text, -1) {
		all = append(all, found[1])
	}
	for _, found := range regexp.MustCompile(`(?m)^ +target: \[(.*)\]$`).FindAllStringSubmatch(w.text, -1) {
		for entry := range strings.SplitSeq(found[1], ",") {
			all = append(all, strings.Fields(entry)...)
		}
	}
	return slices.DeleteFunc(all, func(target string) bool { return strings.Contains(target, "=") })
}

// TestWorkflowsCallMake checks that workflows call targets of the Makefile, that the first one of all has each step
// of .ci/run, and that steps do nothing by themselves: what CI does, anyone can do in a clone.
func TestWorkflowsCallMake(t *testing.T) {
	makefile, called := read(t, "Makefile"), map[string]bool{}
	for _, w := range workflows(t) {
		if regexp.MustCompile(`[:,[] *(make )?test *([],}]|\n)`).MatchString(w.text) {
			t.Errorf("%s has a job that tests without the site: a test opens it in a browser", w.path)
		}
		for _, target := range w.targets() {
			called[target] = true
			if !strings.Contains(makefile, "\n"+target+":") {
				t.Errorf("%s calls make %s, which the Makefile does not have", w.path, target)
			}
		}
		for _, found := range regexp.MustCompile(`(?m)^ *(?:- )?run: (.*)$`).FindAllStringSubmatch(w.text, -1) {
			if !regexp.MustCompile(`^(make [^;&|]*|git config [^;&|]*|gh release create [^;&|]*)$`).MatchString(found[1]) {
				t.Errorf("%s runs %q: make it a target of the Makefile", w.path, found[1])
			}
		}
	}
	called["test-fdb-chief"] = called["test-fdb"] // the former is a part of the latter
	steps := regexp.MustCompile(`(?m)^ *make ([a-z-]+)`).FindAllStringSubmatch(read(t, ".ci/run"), -1)
	if len(steps) < 6 {
		t.Fatalf("found %d steps in .ci/run", len(steps))
	}
	for _, step := range steps {
		if !called[step[1]] {
			t.Errorf(".ci/run has the step make %s, and no workflow: they call %q", step[1], slices.Sorted(maps.Keys(called)))
		}
	}
}

// TestWorkflowsArePinned checks what others could change in workflows, and what a workflow may do. An action is pinned by its commit:
// a tag can be moved.
func TestWorkflowsArePinned(t *testing.T) {
	uses := regexp.MustCompile(`(?m)uses: *(.*)$`)
	pinned := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, w := range workflows(t) {
		for _, found := range uses.FindAllStringSubmatch(w.text, -1) {
			if !pinned.MatchString(found[1]) {
				t.Errorf("%s uses %s: want the commit, and the version as a comment", w.path, found[1])
			}
		}
		for _, key := range []string{"permissions:", "concurrency:", "timeout-minutes:", "persist-credentials: false"} {
			if !strings.Contains(w.text, key) {
				t.Errorf("%s has no %s", w.path, key)
			}
		}
		if strings.Contains(w.text, "pull_request_target") || regexp.MustCompile(`run:.*\$\{\{ *github\.(event|head_ref)`).MatchString(w.text) {
			t.Errorf("%s runs what a pull request says", w.path)
		}
	}
}
