// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/idgen/external"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/oklog/ulid/v2"
)

// leasePages show the machine ids that the database leases.
type leasePages struct{ leases *leasefdb.Provider }

// service is a service that leases its machine ids from the database.
type service struct {
	Name      string `json:"name"`
	Active    int    `json:"active"`    // leases in force
	Positions int64  `json:"positions"` // that they have
	Space     int64  `json:"space"`     // positions that can be leased
	More      bool   `json:"more"`      // not all leases were counted, or some cannot be read
}

// maxLeases is how many leases of a service are counted.
const maxLeases = 5000

// list lists the services and the leases of one.
func (p *leasePages) list(r *http.Request) (any, error) {
	names, err := p.leases.Services(r.Context(), "", 256)
	if err != nil {
		return nil, err
	}
	services := []service{}
	for _, name := range names {
		s, err := p.count(r, name)
		if err != nil {
			return nil, fmt.Errorf("the service %q: %w", name, err)
		}
		services = append(services, s)
	}
	query := r.URL.Query()
	page := lease.Page{Leases: []lease.Info{}}
	if name := query.Get("service"); name != "" {
		page, err = p.leases.List(r.Context(), name, lease.ListOptions{After: query.Get("after"), Limit: 100, Ended: query.Get("ended") == "1"})
	}
	damage := ""
	if lease.IsUnreadable(err) {
		damage, err = err.Error(), nil
	}
	if page.Leases == nil {
		page.Leases = []lease.Info{}
	}
	l := idgen.DefaultLayout()
	return map[string]any{"services": services, "page": page, "damage": damage, "layout": l, "now": time.Now(), "first": l.First(), "last": l.Last()}, err
}

// count counts the leases of a service that are in force.
func (p *leasePages) count(r *http.Request, name string) (s service, err error) {
	l := idgen.DefaultLayout()
	s = service{Name: name, Space: int64(l.FallbackPositions())}
	damaged := false
	for after, seen := "", 0; ; {
		page, err := p.leases.List(r.Context(), name, lease.ListOptions{After: after})
		if err != nil && !lease.IsUnreadable(err) {
			return s, err
		}
		damaged = damaged || err != nil // of some blocks, or of the whole service
		for _, info := range page.Leases {
			s.Active++
			s.Positions += 1 << info.SequenceBits
		}
		after, seen = page.Next, seen+len(page.Leases)
		if after == "" || seen >= maxLeases {
			s.More = after != "" || damaged
			return s, nil
		}
	}
}

// decodedID is what an id means.
type decodedID struct {
	Form     string     `json:"form"` // kazahana, external, ULID or UUID
	ID       string     `json:"id"`
	External string     `json:"external,omitempty"` // scrambled
	Hex      string     `json:"hex"`
	Time     *time.Time `json:"time,omitempty"`
	Machine  *int       `json:"machine,omitempty"`
	Sequence *int       `json:"sequence,omitempty"`
	Fallback bool       `json:"fallback"`
	Bits     string     `json:"bits,omitempty"` // of a kazahana ID: 64 characters 0 and 1
	Layout   any        `json:"layout,omitempty"`
	Note     string     `json:"note,omitempty"`
}

// decode tells what an id means.
func decode(r *http.Request) (any, error) {
	text := strings.TrimSpace(r.URL.Query().Get("id"))
	if d, ok := decode16(text); ok {
		return d, nil
	}
	id, err := idgen.Parse(text)
	form := "kazahana"
	if err != nil {
		codec, codecErr := external.New(external.Options{})
		if codecErr != nil {
			return nil, codecErr
		}
		if id, codecErr = codec.Decode(text); codecErr != nil {
			return nil, invalid("%q is neither a kazahana ID (decimal), nor an external ID of 11 characters (scrambled), nor a ULID or UUID: %w", text, err)
		}
		form = "external"
	}
	return newDecodedID(form, id)
}

func newDecodedID(form string, id idgen.ID) (d decodedID, err error) {
	l := idgen.DefaultLayout()
	at, machine, sequence := l.Time(id), l.MachineID(id), l.Sequence(id)
	d = decodedID{
		Form: form, ID: decimal(int64(id)), Hex: fmt.Sprintf("%016x", uint64(id)), Time: &at, Machine: &machine, Sequence: &sequence,
		Fallback: l.IsFallback(id), Bits: fmt.Sprintf("%064b", uint64(id)), Layout: l,
	}
	codec, err := external.New(external.Options{})
	if err == nil {
		d.External = codec.Encode(id)
	}
	return d, err
}

// decode16 tells what an id of 16 bytes means: a ULID, or a UUID in its usual form.
func decode16(text string) (d decodedID, ok bool) {
	if u, err := ulid.ParseStrict(text); err == nil {
		at := u.Timestamp().UTC()
		return decodedID{Form: "ULID", ID: u.String(), Hex: hex.EncodeToString(u[:]), Time: &at}, true
	}
	u, err := idgen.ParseUUID(text)
	if err != nil || len(text) != 36 {
		return d, false
	}
	d = decodedID{Form: "UUID", ID: u.String(), Hex: hex.EncodeToString(u[:])}
	if version := u[6] >> 4; version != 7 {
		d.Note = fmt.Sprintf("A UUID of version %d: only those of version 7 begin with the time in milliseconds.", version)
		return d, true
	}
	var ms int64
	for _, c := range u[:6] {
		ms = ms<<8 | int64(c)
	}
	at := time.UnixMilli(ms).UTC()
	d.Time = &at
	return d, true
}
