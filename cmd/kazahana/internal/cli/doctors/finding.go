// SPDX-License-Identifier: Apache-2.0

package doctors

import (
	"encoding/hex"
	"fmt"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// finding is a finding as the verb prints it.
type finding struct {
	Code      string `json:"code"`
	Severity  string `json:"severity"`
	Directory string `json:"directory"`
	Type      string `json:"type,omitempty"`
	Index     string `json:"index,omitempty"`
	ID        string `json:"id,omitempty"`
	Key       string `json:"key,omitempty"` // behind the directory's prefix, as a tuple
	KeyHex    string `json:"keyHex,omitempty"`
	Reason    string `json:"reason"`
	Remedy    string `json:"remedy"`
	Places    int    `json:"places"` // with the same remedy: id, key and reason are of the first
}

func newFinding(f doctor.Finding) finding {
	return finding{
		Code: f.Code, Severity: string(f.Severity), Directory: database.FormatPath(f.Path), Type: f.Type, Index: f.Index, ID: f.ID,
		Key: f.Place, KeyHex: hex.EncodeToString(f.Key), Reason: f.Reason, Remedy: f.Remedy, Places: f.Places,
	}
}

// Lines implements [shell.Result].
func (f finding) Lines() []string {
	pairs := []any{f.Severity, f.Code, "directory", f.Directory}
	for _, p := range [][2]string{{"type", f.Type}, {"index", f.Index}, {"id", f.ID}, {"key", f.Key}} {
		if p[1] != "" {
			pairs = append(pairs, p[0], p[1])
		}
	}
	if f.KeyHex != "" {
		pairs = append(pairs, "bytes", "0x"+f.KeyHex)
	}
	if f.Places > 1 {
		pairs = append(pairs, "places", fmt.Sprintf("%d, of which this is the first", f.Places))
	}
	return append(shell.Fields(append(pairs, "reason", f.Reason, "remedy", f.Remedy)...), "")
}

// summary counts what was examined and found.
type summary struct {
	Directories int64 `json:"directories"`
	Stores      int64 `json:"stores"`
	Records     int64 `json:"records"`
	Entries     int64 `json:"entries"`
	Keys        int64 `json:"keys"`
	Damage      int64 `json:"damage"`
	Warnings    int64 `json:"warnings"`
	Notices     int64 `json:"notices"`
	NotExamined int64 `json:"notExamined"`
}

func newSummary(r doctor.Report) summary { return summary(r) }

// Lines implements [shell.Result].
func (s summary) Lines() []string {
	return []string{fmt.Sprintf("examined %d directories, %d stores, %d records, %d entries: damage %d, warnings %d, notices %d",
		s.Directories, s.Stores, s.Records, s.Entries, s.Damage, s.Warnings, s.Notices)}
}
