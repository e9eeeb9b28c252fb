// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// turn is one time that Watch generates.
type turn struct {
	begin   time.Time
	text    strings.Builder // faults and notes, a line each
	faults  int
	wrote   []string          // names of files that changed
	outputs map[string][]byte // what the turn changed, by path; nil for files that are removed
}

// write writes the outputs of a run without faults, and keeps its notes.
func (t *turn) write(r *run) error {
	for _, note := range newDiagnostics(r.faults.Notes) {
		fmt.Fprintln(&t.text, note)
	}
	changed, err := r.writeOutputs()
	for _, o := range changed {
		t.outputs[o.Path] = o.Content
		t.wrote = append(t.wrote, r.faults.Relative(o.Path))
	}
	return err
}

// report keeps the faults that an error has.
func (t *turn) report(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(&t.text, err)
	t.faults++
	if list, ok := errors.AsType[Diagnostics](err); ok {
		t.faults += len(list) - 1
	}
}

// summary says how the turn ended.
func (t *turn) summary() string {
	switch {
	case t.faults == 1:
		return "1 fault"
	case t.faults > 1:
		return fmt.Sprint(t.faults, " faults")
	case len(t.wrote) > 0:
		return "wrote " + strings.Join(t.wrote, ", ")
	}
	return "no faults, nothing to write"
}
