// SPDX-License-Identifier: Apache-2.0

package message

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

var timeScalar = codec[time.Time]{
	append: wire.AppendTimestamp, read: (*wire.Reader).Timestamp, key: index.AppendTime, readKey: index.ReadTime,
	text: formatTime, parse: parseTime, isZero: time.Time.IsZero,
}.scalar(wire.BytesType, jsonText, "a time such as 2026-01-31T12:00:00.5Z, as text")

// formatTime returns a time as RFC 3339 says, and a year that has no four digits as
// "@", the seconds since 1970 and nine digits of nanoseconds.
func formatTime(v time.Time) string {
	v = v.UTC()
	if year := v.Year(); year < 0 || year > 9999 {
		return fmt.Sprintf("@%d.%09d", v.Unix(), v.Nanosecond())
	}
	return v.Format(time.RFC3339Nano)
}

// parseTime reads what formatTime returns, in any time zone.
func parseTime(text string) (time.Time, error) {
	if seconds, found := strings.CutPrefix(text, "@"); found {
		return parseSeconds(seconds)
	}
	v, err := time.Parse(time.RFC3339Nano, text)
	return v.UTC(), err
}

func parseSeconds(text string) (time.Time, error) {
	whole, digits, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || len(digits) > 9 {
		return time.Time{}, strconv.ErrSyntax
	}
	nanos, err := strconv.ParseUint(digits+strings.Repeat("0", 9-len(digits)), 10, 32)
	return time.Unix(seconds, int64(nanos)).UTC(), err
}
