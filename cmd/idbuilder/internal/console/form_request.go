// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// buildRequest returns the request of the API for the form, or nil if the form has faults.
// The API makes all checks, except for texts that are not numbers.
func (f *form) buildRequest(now time.Time) (*idconfig.Request, error) {
	body := map[string]any{"key": f.Key(), "name": f.Values.Get("name"), "key_token_enable": f.Values.Get("key_token_enable") != "", "force": f.Force()}
	switch {
	case f.Type == idconfig.TypeIncrement:
		f.incrementBody(body)
	case f.Type == idconfig.TypeSnowflake:
		f.putFields(body, "", snowflakeFields)
	case f.ByPattern():
		f.putFields(body, "", patternFields)
	default:
		body["parts"] = f.partBodies()
	}
	if len(f.Faults) > 0 {
		return nil, nil
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := idconfig.Parse(f.Type, text, now)
	if err != nil {
		return nil, f.takeFaults(err)
	}
	if r.CreateOnly = f.New(); !r.CreateOnly {
		r.Replaces = f.shownVersion()
	}
	return r, nil
}

// shownVersion returns the version of the key that the form shows; -1, which no key has, if it is
// no version.
func (f *form) shownVersion() int64 {
	version, err := strconv.ParseInt(f.Values.Get("version"), 10, 64)
	if err != nil || version < 1 {
		return -1
	}
	return version
}

// incrementBody gives a negative distance the name that the API has for it.
func (f *form) incrementBody(body map[string]any) {
	f.putFields(body, "", incrementFields)
	f.putFields(body, "", limitFields)
	if delta, ok := body["delta"].(int64); ok && delta <= 0 {
		delete(body, "delta")
		body["step"] = delta
	}
}

// putFields puts the typed texts of fields into the body of a request, without empty
// ones.
func (f *form) putFields(body map[string]any, prefix string, fields []field) {
	for _, d := range fields {
		name := prefix + d.Param
		switch d.Control {
		case number:
			if n, ok := f.readInteger(name); ok {
				body[d.Param] = n
			}
		case moment:
			if n, ok := f.readMilliseconds(name); ok {
				body[d.Param] = n
			}
		case yesNo:
			if f.Values.Get(name) != "" {
				body[d.Param] = true
			}
		default:
			if typed := f.Values.Get(name); typed != "" || d.Param == "pattern" {
				body[d.Param] = typed
			}
		}
	}
}

// readMilliseconds reads a date, or milliseconds since 1970.
func (f *form) readMilliseconds(name string) (n int64, given bool) {
	typed := strings.TrimSpace(f.Values.Get(name))
	if day, err := time.Parse(time.DateOnly, typed); err == nil {
		return day.UnixMilli(), true
	}
	if _, err := strconv.ParseInt(typed, 10, 64); typed != "" && err != nil {
		f.Faults = append(f.Faults, &idconfig.ParamError{Param: name, Reason: fmt.Sprintf("it is %q; wanted is a date such as 2026-01-01, or milliseconds since 1970", typed)})
		return 0, false
	}
	return f.readInteger(name)
}

// newForm returns the form of a new key of a type.
func newForm(t idconfig.Type, now time.Time) *form {
	f := &form{Type: t, Values: url.Values{}, Focus: "key"}
	for _, d := range fieldsOf(t) {
		f.Values.Set(d.Param, d.Value)
	}
	if t == idconfig.TypeSnowflake {
		f.Values.Set("base_ts", strconv.Itoa(now.UTC().Year())+"-01-01")
	}
	if t == idconfig.TypeFormatted {
		f.setParts(exampleParts)
	}
	return f
}

// formOf returns the form that changes a key.
func formOf(c *idconfig.Config) *form {
	f := &form{Type: c.Type, Values: url.Values{"version": {strconv.FormatInt(c.Version, 10)}, "key": {c.Key}, "name": {c.Name}}}
	f.setBool("key_token_enable", c.KeyTokenOnly)
	switch c.Type {
	case idconfig.TypeIncrement:
		i := c.Increment
		f.setNumbers(map[string]int64{"base": i.Base, "delta": i.Delta, "max_request_delta": i.MaxRequestDelta, "min": i.Min, "max": i.Max})
		f.setBool("rand_delta", i.RandDelta)
	case idconfig.TypeSnowflake:
		s := c.Snowflake
		f.setNumbers(map[string]int64{"base_ts": s.BaseTS, "ts_size": int64(s.TSSize), "worker_id_size": int64(s.WorkerIDSize), "seq_size": int64(s.SeqSize), "skip_size": int64(s.SkipSize)})
	case idconfig.TypeFormatted:
		if f.setParts(c.Formatted.Parts); c.Formatted.Pattern != "" {
			f.Values.Set("pattern", c.Formatted.Pattern)
			f.Values.Set("sequence_reset", c.Formatted.SequenceReset)
		}
	}
	return f
}

// setNumbers sets fields; one that has the value of no limit stays empty.
func (f *form) setNumbers(numbers map[string]int64) {
	for name, n := range numbers {
		if name == "min" && n == minInt64 || name == "max" && n == maxInt64 {
			continue
		}
		f.Values.Set(name, strconv.FormatInt(n, 10))
	}
}

func (f *form) setBool(name string, yes bool) {
	if yes {
		f.Values.Set(name, "yes")
	}
}
