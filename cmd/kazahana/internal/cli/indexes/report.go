// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/keytext"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

// report is what verify found and repair did.
type report struct {
	Path     string   `json:"path"`
	Type     string   `json:"type"`
	Records  int      `json:"records"`
	Entries  int      `json:"entries"`
	Skipped  []string `json:"skipped"` // indexes that are not readable
	Faults   []fault  `json:"faults"`  // those that were repaired, too
	More     bool     `json:"more"`    // there are more faults
	Repaired int      `json:"repaired"`
	Left     int      `json:"left"` // faults that were not repaired
}

// fault is a record or an entry at fault.
type fault struct {
	Index  string `json:"index,omitempty"` // none if the record itself is at fault
	Key    string `json:"key"`
	ID     string `json:"id,omitempty"` // a tuple
	Reason string `json:"reason"`
}

func newReport(t *target, r persistable.Report) report {
	shown := report{
		Path: database.FormatPath(t.path), Type: t.schema.Type, Records: r.Records, Entries: r.Entries, Skipped: append([]string{}, r.Skipped...),
		Faults: []fault{}, More: r.More, Repaired: r.Repaired, Left: len(r.Faults) - r.Repaired,
	}
	for _, f := range r.Faults {
		shown.Faults = append(shown.Faults, fault{f.Index, keytext.Format(f.Key), f.ID, f.Reason})
	}
	return shown
}

// Lines implements [shell.Result].
func (r report) Lines() []string {
	pairs := []any{"store", r.Type + " in " + r.Path, "read", fmt.Sprintf("%d records, %d entries", r.Records, r.Entries)}
	if len(r.Skipped) > 0 {
		pairs = append(pairs, "skipped", strings.Join(r.Skipped, ", ")+": not readable, or not countable now")
	}
	for _, f := range r.Faults {
		pairs = append(pairs, "fault", f.text())
	}
	if r.More {
		pairs = append(pairs, "", "and more")
	}
	return shell.Fields(append(pairs, "repaired", r.Repaired, "left", r.Left)...)
}

func (f fault) text() string {
	text := f.Reason
	if f.ID != "" {
		text = "record " + f.ID + ": " + text
	}
	if f.Index != "" {
		text = f.Index + ": " + text
	}
	return text + " (" + f.Key + ")"
}
