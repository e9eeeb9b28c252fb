// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestProgress adds up ranges in all states: done with fewer bytes than were estimated,
// claimed with more, and not begun.
func TestProgress(t *testing.T) {
	done := Range{Begin: nil, Next: []byte("b"), End: []byte("b"), Records: 10, Bytes: 50, Estimate: 100, Busy: 2 * time.Second}
	claimed := Range{Begin: []byte("b"), Next: []byte("bb"), End: []byte("c"), Worker: []byte("w"), Records: 3, Bytes: 40, Estimate: 100, Busy: time.Second}
	beyond := Range{Begin: []byte("c"), Next: []byte("cc"), End: []byte("d"), Worker: []byte("v"), Records: 5, Bytes: 900, Estimate: 100, Busy: 3 * time.Second}
	free := Range{Begin: []byte("d"), Next: []byte("d"), End: lastEnd, Estimate: 180}
	members := []Member{{"i", "Name:string"}}
	got := newProgress(members, []Range{done, claimed, beyond, free})
	want := Progress{
		Members: members, Ranges: 4, RangesDone: 1, Records: 18, Bytes: 990, Estimate: 480, Done: 240, Workers: 2,
		Remaining: 3 * time.Second, // 6 s for 240 bytes, 240 are left, 2 workers
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := newProgress(members, []Range{free}); got.Remaining != 0 || got.Done != 0 {
		t.Errorf("before the first batch: %+v", got)
	}
	if got := newProgress(members, []Range{done}); got.Remaining != 0 || got.Done != got.Estimate {
		t.Errorf("after the last batch: %+v", got)
	}
}
