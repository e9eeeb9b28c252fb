// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/bench/measure"
)

// Footprints measures every kind of work whose name matches with every store whose name matches,
// each in a process of its own: this program with the arguments that ask for MeasureFootprint and
// print its result as JSON. Works that come before a chosen one run, too, if it needs their files.
func Footprints(dir string, works, stores *regexp.Regexp, arguments func(work, store, dir string) []string) (all []Footprint, err error) {
	if dir, err = os.MkdirTemp(dir, "bench-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var chosen []string
	for _, e := range footprintEntrants() {
		if stores.MatchString(e.name) {
			chosen = append(chosen, e.name)
		}
	}
	folder := ""
	for i, w := range footprintWorks {
		if w.fresh {
			folder = filepath.Join(dir, w.name)
		}
		if !w.isNeeded(i, works) {
			continue
		}
		found, err := w.measureAll(folder, chosen, arguments)
		if err != nil {
			return all, err
		}
		if works.MatchString(w.name) {
			all = append(all, found...)
		}
	}
	return all, nil
}

// footprintWork is a kind of work. Works run in their order, on the files that the works
// before have left, or on none.
type footprintWork struct {
	name  string
	fresh bool // begins with an empty store
	alone bool // needs the processors for itself
	run   func(s *anyStore, o FootprintOptions) (ops int, err error)
}

var footprintWorks = []footprintWork{
	{"load", true, true, func(s *anyStore, o FootprintOptions) (int, error) { return o.Records, s.load(o.Records) }},
	{"idle", false, false, func(_ *anyStore, o FootprintOptions) (int, error) { time.Sleep(o.Idle); return 0, nil }},
	{"gets", false, true, getAll},
	{"updates", true, false, updateAll},
}

// isNeeded reports whether a work is chosen, or leaves the files for one that is.
func (w *footprintWork) isNeeded(i int, works *regexp.Regexp) bool {
	if works.MatchString(w.name) {
		return true
	}
	for _, later := range footprintWorks[i+1:] {
		if later.fresh {
			return false
		}
		if w.fresh && works.MatchString(later.name) {
			return true
		}
	}
	return false
}

// measureAll measures a work with all stores, one after the other if it needs the processors.
func (w *footprintWork) measureAll(dir string, stores []string, arguments func(work, store, dir string) []string) ([]Footprint, error) {
	all, errs := make([]Footprint, len(stores)), make([]error, len(stores))
	var wg sync.WaitGroup
	for i, store := range stores {
		own := filepath.Join(dir, store)
		run := func() { errs[i] = runFootprint(&all[i], own, arguments(w.name, store, own)) }
		if w.alone {
			run()
		} else {
			wg.Go(run)
		}
	}
	wg.Wait()
	return all, errors.Join(errs...)
}

// runFootprint runs this program for one footprint.
func runFootprint(f *Footprint, dir string, arguments []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(program, arguments...)
	command.Stderr = os.Stderr
	printed, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(arguments, " "), err)
	}
	return json.Unmarshal(printed, f)
}

// FootprintTable returns the footprints as a table in Markdown.
func FootprintTable(all []Footprint) string {
	var b strings.Builder
	b.WriteString("| work | store | memory at the end | at most | on disk at the end | at most | processor time of Open | of the work | a second |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, f := range all {
		processor, rate := measure.Duration(f.Processor.Seconds()), ""
		if f.Ops > 0 {
			processor = measure.Duration(f.Processor.Seconds()/float64(f.Ops)) + " each"
			rate = measure.Count(float64(f.Ops) / f.Took.Seconds())
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", f.Work, f.Store, megabytes(f.Memory), megabytes(f.Peak),
			megabytes(f.Disk), megabytes(f.DiskPeak), measure.Duration(f.Open.Round(time.Microsecond).Seconds()), processor, rate)
	}
	return b.String()
}

// megabytes formats a size in millions of bytes.
func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }
