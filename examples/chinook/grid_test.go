// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGridPrint(t *testing.T) {
	g := grid{
		columns: []string{"name", ">length", "composer"},
		rows: [][]string{
			{"Construção", "6:23", "-"},
			{"Terra", "12:01", strings.Repeat("é", maxCell+1)},
		},
	}
	want := strings.Join([]string{
		"  name        length  composer",
		"  ----------  ------  " + strings.Repeat("-", maxCell),
		"  Construção    6:23  -",
		"  Terra        12:01  " + strings.Repeat("é", maxCell-1) + "…",
		"",
	}, "\n")
	var out strings.Builder
	if err := g.print(&out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("print (-want +got):\n%s", diff)
	}
}

type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestGridPrintFails(t *testing.T) {
	if err := (grid{columns: []string{"name"}}).print(fullDisk{}); !errors.Is(err, errFull) {
		t.Errorf("print says %v, want %v", err, errFull)
	}
}
