// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/binary"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/persistable/stored"
)

// usage is how many records a tenant has, and how many bytes their values have.
type usage struct{ records, bytes int64 }

// checkTenant checks settings, usage, and what is unfinished. It returns the usage if all
// records are counted.
func (p *place) checkTenant(b *batch, values map[string][]byte, key func(string) []byte) *usage {
	add := func(code, name, format string, args ...any) {
		b.report(newFinding(code, p.path, p.metadata.Root(), key(name), format, args...))
	}
	t, err := stored.DecodeTenant(values["settings"])
	switch {
	case err != nil:
		add("tenant/bad-settings", "settings", "%v", err)
	case t.Locked:
		add("tenant/locked", "settings", "it is locked: %s", t.Reason)
	}
	if t.Counting {
		add("tenant/counting", "settings", "its quota does not hold yet")
	}
	for _, name := range []string{"records", "bytes"} {
		if n := len(values[name]); values[name] != nil && n != 8 {
			add("tenant/bad-settings", name, "its usage has %d bytes instead of 8", n)
		}
	}
	switch p.stage() {
	case "arriving":
		add("tenant/interrupted", "arrival", "its copy or import has not ended")
	case "removed":
		add("tenant/removed", "arrival", "its removal has not ended")
	}
	if err != nil || !t.Quota || t.Counting || p.layer != directory.Partition {
		return nil
	}
	return &usage{numberOf(values["records"]), numberOf(values["bytes"])}
}

// stage returns which change of a tenant has left the directory, "" for none: the path ends
// with kazahana/tenants/SET/arriving/NAME, or removed/NAME/ID.
func (p *place) stage() string {
	n := len(p.path)
	own := func(i int, word string) bool {
		return i >= 3 && p.path[i] == word && slices.Equal(p.path[i-3:i-1], []string{ownDirectory, "tenants"})
	}
	switch {
	case n >= 5 && own(n-2, "arriving"):
		return "arriving"
	case n >= 6 && own(n-3, "removed"):
		return "removed"
	}
	return ""
}

const tenantOwner = stored.TenantOwner

// numberOf reads a counter; 0 for none.
func numberOf(value []byte) int64 {
	if len(value) != 8 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(value))
}
