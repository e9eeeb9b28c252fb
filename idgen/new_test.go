// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
)

func TestNewIDsAscendAndCarryTheTime(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	var (
		id  ID
		ul  ulid.ULID
		str string
		uu  UUID
	)
	for range 10_000 {
		nextID, nextULID, nextString, nextUUID := NewID(), NewULID(), NewULIDString(), NewUUID()
		if nextID <= id || nextULID.Compare(ul) <= 0 || nextString <= str || nextUUID.Compare(uu) <= 0 {
			t.Fatalf("not ascending: %v %v, %v %v, %v %v, %v %v", id, nextID, ul, nextULID, str, nextString, uu, nextUUID)
		}
		id, ul, str, uu = nextID, nextULID, nextString, nextUUID
	}
	after := time.Now()
	for what, made := range map[string]time.Time{"ID": id.Time(), "ULID": ul.Timestamp(), "UUID": uu.Time()} {
		if made.Before(before) || made.After(after) {
			t.Errorf("time of the last %s is %v; made between %v and %v", what, made, before, after)
		}
	}
	if !id.IsFallback() || id.MachineID() < 8192 || id.MachineID() > 16383 {
		t.Errorf("standalone ID %d: IsFallback %v, MachineID %d; want a fallback ID", id, id.IsFallback(), id.MachineID())
	}
	if uu.Version() != 7 || uu[8]>>6 != 0b10 {
		t.Errorf("UUID %v: version %d, variant bits %b; want 7 and 10", uu, uu.Version(), uu[8]>>6)
	}
}

func TestNewIsZeroOutsideTheTimeRange(t *testing.T) {
	late := func() time.Time { return time.UnixMilli(maxUnixMs + 1) }
	processULIDs, processUUIDs = ULIDSource{Now: late}, UUIDSource{Now: late}
	defer func() { processULIDs, processUUIDs = ULIDSource{}, UUIDSource{} }()
	if id, text, uu := NewULID(), NewULIDString(), NewUUID(); id != ulid.Zero || text != "" || !uu.IsZero() {
		t.Errorf("NewULID %v, NewULIDString %q, NewUUID %v; want zero values", id, text, uu)
	}
}
