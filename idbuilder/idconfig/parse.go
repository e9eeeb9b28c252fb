// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// request has the parameters that all types share, in both dialects.
type request struct {
	Key            *string `json:"key"`
	Name           *string `json:"name"`
	KeyTokenEnable bool    `json:"key_token_enable"`
	Force          bool    `json:"force"`
}

// specified reports whether the request speaks the specification's dialect, in
// which key names the configuration.
func (r *request) specified() bool { return r.Key != nil }

// Request is a configuration as a client sent it.
type Request struct {
	Config
	// Force accepts a change by which IDs may come twice.
	Force bool
	// CreateOnly: in the deployed worker's dialect, what exists is not changed.
	CreateOnly bool
}

// Parse reads the body of a request, a JSON object in either dialect, for a
// configuration of a type. Now is for what depends on the time. The error joins a
// [*ParamError] for each fault.
func Parse(t Type, body []byte, now time.Time) (*Request, error) {
	switch t {
	case TypeIncrement:
		var r incrementRequest
		return finish(t, body, &r, &r.request, func(c *Config) (faults []error) {
			c.Increment, faults = r.config()
			return faults
		})
	case TypeSnowflake:
		var r snowflakeRequest
		return finish(t, body, &r, &r.request, func(c *Config) (faults []error) {
			c.Snowflake, faults = r.config(now)
			return faults
		})
	case TypeFormatted:
		var r formattedRequest
		return finish(t, body, &r, &r.request, func(c *Config) (faults []error) {
			c.Formatted, faults = r.config()
			return faults
		})
	}
	return nil, fault("id_type", "%q is no type; allowed are increment, snowflake and formatted", t)
}

// finish decodes the body into target, and makes the configuration.
func finish(t Type, body []byte, target any, r *request, parameters func(*Config) []error) (*Request, error) {
	if err := decode(body, target); err != nil {
		return nil, err
	}
	result := &Request{Config: Config{Type: t, KeyTokenOnly: r.KeyTokenEnable}, Force: r.Force}
	var faults []error
	switch {
	case r.Key != nil:
		result.Key, result.Name = *r.Key, first("", r.Name)
		faults = append(faults, CheckKey("key", result.Key))
		if len(result.Name) > 255 {
			faults = append(faults, fault("name", "it has %d bytes; allowed are 0 to 255", len(result.Name)))
		}
	case r.Name != nil:
		result.Key, result.CreateOnly = *r.Name, !r.Force
		faults = append(faults, CheckKey("name", result.Key))
	default:
		faults = append(faults, &ParamError{Param: "key", Reason: "it is missing", Err: nil})
	}
	faults = append(faults, parameters(&result.Config)...)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return result, nil
}

// decode reads one JSON object, of which all members are known.
func decode(body []byte, target any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(target)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("there is more behind the JSON object")
		}
	}
	var typed *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return fault(typed.Field, "it is a %s; wanted is a value of type %s", typed.Value, typed.Type)
	case err == io.EOF:
		return fault("body", "it is empty; wanted is a JSON object")
	}
	return fault("body", "it is not a JSON object of known members: %v", err)
}
