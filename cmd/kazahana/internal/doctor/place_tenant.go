// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/binary"
	"net/url"
	"slices"
	"strings"

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
	switch stage, tenant := p.stage(); stage {
	case "arriving":
		add("tenant/interrupted", "arrival", "the copy or import of %s has not ended", tenant)
	case "removed":
		add("tenant/removed", "arrival", "the removal of %s has not ended", tenant)
	}
	if err != nil || !t.Quota || t.Counting || p.layer != directory.Partition {
		return nil
	}
	return &usage{numberOf(values["records"]), numberOf(values["bytes"])}
}

// stage returns which change of a tenant has left the directory, "" for none, and the path
// of the tenant: the path of the directory ends with kazahana/tenants/SET/arriving/NAME, or
// removed/NAME/ID.
func (p *place) stage() (stage, tenant string) {
	n := len(p.path)
	own := func(i int, word string) bool {
		return i >= 3 && p.path[i] == word && slices.Equal(p.path[i-3:i-1], []string{ownDirectory, "tenants"})
	}
	switch {
	case n >= 5 && own(n-2, "arriving"):
		return "arriving", p.tenantAt(n - 3)
	case n >= 6 && own(n-3, "removed"):
		return "removed", p.tenantAt(n - 4)
	}
	return "", ""
}

// isStaged reports whether a change of a tenant has left the directory, or one around it.
func (p *place) isStaged() bool {
	for n := range p.path {
		around := place{path: p.path[:n+1]}
		if stage, _ := around.stage(); stage != "" {
			return true
		}
	}
	return false
}

// tenantAt returns the path of the tenant, if the path of the directory has that of its set
// at i, escaped, or a hash of it.
func (p *place) tenantAt(i int) string {
	names := append(slices.Clone(p.path[:i-2]), strings.Split(strings.Trim(p.path[i], "/"), "/")...)
	for n, name := range names[i-2:] {
		if plain, err := url.PathUnescape(name); err == nil {
			names[i-2+n] = plain
		}
	}
	names = slices.DeleteFunc(append(names, p.path[i+2]), func(name string) bool { return name == "" })
	return strings.Join(names, "/")
}

const tenantOwner = stored.TenantOwner

// numberOf reads a counter; 0 for none.
func numberOf(value []byte) int64 {
	if len(value) != 8 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(value))
}
