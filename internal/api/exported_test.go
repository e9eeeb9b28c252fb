// SPDX-License-Identifier: Apache-2.0

package api

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is exported and was in no release to api/next.txt")

const folder = "../../api"

// TestExported compares what is exported with the files of the folder api.
func TestExported(t *testing.T) {
	now := exported(t)
	r := readRecord(t, folder)
	if *update {
		r.next = r.added(now)
		if err := os.WriteFile(filepath.Join(folder, "next.txt"), []byte(join(r.next)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, fault := range r.faults(now) {
		t.Error(fault)
	}
}

// record is what the folder api has.
type record struct {
	released map[string]string // the lines of all releases, with the file of each
	next     []string
	excepted []string
	why      map[string]bool // the lines of excepted that have a comment
}

var releaseFile = regexp.MustCompile(`^v\d+\.\d+\.\d+\.txt$`)

func readRecord(t *testing.T, folder string) *record {
	t.Helper()
	r := &record{released: map[string]string{}, why: map[string]bool{}}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		switch lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"); {
		case entry.Name() == "next.txt":
			r.next = lines
		case entry.Name() == "except.txt":
			r.readExcepted(lines)
		case releaseFile.MatchString(entry.Name()):
			for _, line := range lines {
				r.released[line] = entry.Name()
			}
		default:
			t.Errorf("api/%s: want the name of a release, next.txt or except.txt", entry.Name())
		}
	}
	return r
}

// readExcepted reads except.txt: a comment explains the lines below it, up to an empty line.
func (r *record) readExcepted(lines []string) {
	explained := false
	for _, line := range lines {
		switch {
		case line == "":
			explained = false
		case strings.HasPrefix(line, "#"):
			explained = true
		default:
			r.excepted = append(r.excepted, line)
			r.why[line] = explained
		}
	}
}

// added returns the lines that no release has.
func (r *record) added(now []string) []string {
	return slices.DeleteFunc(slices.Clone(now), func(line string) bool { return r.released[line] != "" })
}

// faults compares the record with what is exported now.
func (r *record) faults(now []string) (faults []string) {
	is, excepted := setOf(now), setOf(r.excepted)
	for _, line := range slices.Sorted(maps.Keys(r.released)) {
		if !is[line] && !excepted[line] {
			faults = append(faults, fmt.Sprintf("api/%s has a line that is not true any more, so that programs may not compile: restore it, or add it to api/except.txt and say why:\n%s", r.released[line], line))
		}
	}
	for _, line := range r.excepted {
		switch {
		case r.released[line] == "":
			faults = append(faults, fmt.Sprintf("api/except.txt: no release has this line:\n%s", line))
		case is[line]:
			faults = append(faults, fmt.Sprintf("api/except.txt: the line is true: take it out:\n%s", line))
		case !r.why[line]:
			faults = append(faults, fmt.Sprintf("api/except.txt: no comment says why programs lose this:\n%s", line))
		}
	}
	added, next := r.added(now), setOf(r.next)
	for _, line := range added {
		if !next[line] {
			faults = append(faults, "api/next.txt lacks a line (make api):\n"+line)
		}
	}
	for _, line := range r.next {
		if line != "" && !slices.Contains(added, line) {
			faults = append(faults, "api/next.txt has a line that is not exported, or that a release has (make api):\n"+line)
		}
	}
	return faults
}

func setOf(lines []string) map[string]bool {
	set := map[string]bool{}
	for _, line := range lines {
		set[line] = true
	}
	return set
}

func join(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
