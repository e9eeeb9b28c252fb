// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"errors"
	"time"
)

// request has the parameters that all types share, in both dialects.
type request struct {
	Key            *string `json:"key"`
	Name           *string `json:"name"`
	KeyTokenEnable bool    `json:"key_token_enable"`
	Force          bool    `json:"force"`
}

// isSpecified reports whether the request speaks the specification's dialect, in
// which key names the configuration.
func (r *request) isSpecified() bool { return r.Key != nil }

// Request is a configuration as a client sent it.
type Request struct {
	Config
	// Force accepts a change by which IDs may come twice.
	Force bool
	// CreateOnly says that an existing configuration is not changed, as in the deployed
	// worker's dialect.
	CreateOnly bool
	// Replaces is the version of the configuration that the request replaces, if it is still that; 0:
	// any, or none.
	Replaces int64
}

// Parse reads the body of a request, a JSON object in either dialect, for a
// configuration of a type. Now is the time for checks that depend on it. The error joins a
// [*ParamError] for each fault, in the order of the parameters.
func Parse(t Type, body []byte, now time.Time) (*Request, error) {
	switch t {
	case TypeIncrement:
		var r incrementRequest
		return finish(t, body, &r, &r.request, func(c *Config) (faults []error) {
			c.Increment, faults = r.toConfig()
			return faults
		})
	case TypeSnowflake:
		var r snowflakeRequest
		return finish(t, body, &r, &r.request, func(c *Config) (faults []error) {
			c.Snowflake, faults = r.toConfig(now)
			return faults
		})
	case TypeFormatted:
		var r formattedRequest
		return finish(t, body, &r, &r.request, func(c *Config) (faults []error) {
			c.Formatted, faults = r.toConfig()
			return faults
		})
	}
	return nil, fault("id_type", "%s is not a type; allowed are increment, snowflake and formatted", excerpt(string(t)))
}

// finish decodes the body into target, and returns the configuration.
func finish(t Type, body []byte, target any, r *request, parameters func(*Config) []error) (*Request, error) {
	from, err := read(body, target)
	if err != nil || len(from.faults) > len(from.types) || from.hidesDialect() {
		return nil, errors.Join(append(from.faults, err)...)
	}
	result := &Request{Config: Config{Type: t, KeyTokenOnly: r.KeyTokenEnable}, Force: r.Force}
	faults := append(result.setKey(r), parameters(&result.Config)...)
	if err := errors.Join(append(from.faults, from.withoutTypes(faults)...)...); err != nil {
		return nil, err
	}
	return result, nil
}

// setKey reads the key, which is the name in the deployed worker's dialect.
func (r *Request) setKey(from *request) []error {
	switch {
	case from.Key != nil:
		r.Key, r.Name = *from.Key, first("", from.Name)
		return []error{CheckKey("key", r.Key), checkName(r.Name)}
	case from.Name != nil:
		r.Key, r.CreateOnly = *from.Name, !from.Force
		return []error{CheckKey("name", r.Key)}
	}
	return []error{fault("key", "it is missing; allowed are 1 to %d bytes", MaxKey)}
}
