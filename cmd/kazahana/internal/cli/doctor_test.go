// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// TestVerdict pins the exit codes, which scripts depend on.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		report doctor.Report
		want   int
	}{
		{doctor.Report{Warnings: 1, Notices: 1}, 0},
		{doctor.Report{Warnings: 1, NotExamined: 1}, 6},
		{doctor.Report{Damage: 1, Warnings: 1, NotExamined: 1}, 5},
	} {
		if got := shell.Code(verdict(c.report)); got != c.want {
			t.Errorf("%+v: exit code %d, want %d", c.report, got, c.want)
		}
	}
}
