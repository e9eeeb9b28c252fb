// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/kazahana-db/kazahana/idgen"
)

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
