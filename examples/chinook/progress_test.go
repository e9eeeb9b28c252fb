// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vbauerster/mpb/v8"
)

func TestProgressPlain(t *testing.T) {
	var out strings.Builder
	show := progressOn(&out) // not a terminal
	step := show.start("albums", 70)
	step(50, 50)
	step(20, 0)
	show.finish()
	want := "loading albums: 50 of 70 (50 new)\nloading albums: 70 of 70 (0 new)\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

// finish must return even if the loader has failed before the end of a bar.
func TestProgressBars(t *testing.T) {
	var out strings.Builder
	show := &bars{container: mpb.New(mpb.WithOutput(&out), mpb.WithAutoRefresh(), mpb.WithWidth(20))}
	show.start("artists", 2)(2, 2)
	show.start("albums", 70)(50, 50)
	show.finish()
	for _, want := range []string{"artists", "2 of 2", "albums", "50 of 70"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the bars do not show %q:\n%q", want, out.String())
		}
	}
	empty := &bars{container: mpb.New(mpb.WithOutput(io.Discard), mpb.WithAutoRefresh())}
	empty.start("nothing", 0)
	empty.finish()
}
