// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/http"
	"time"
)

// Code says how a request ended. The table is the specification's.
type Code int

// Codes.
const (
	OK             Code = 0
	Invalid        Code = 1001 // a parameter is wrong
	InvalidKey     Code = 1002 // the key is not well-formed
	SizeLimit      Code = 1003 // size is out of its range
	DeltaLimit     Code = 1004 // delta is out of its range
	Authentication Code = 2001 // there is no token, or it is not valid
	Authorization  Code = 2002 // the token does not permit the request
	NotFound       Code = 3001 // there is no such key
	Internal       Code = 4001 // a fault of the service
	Unavailable    Code = 4002 // the store or the worker cannot answer now
	Exhausted      Code = 4003 // the sequence has no further number
)

// Status returns the HTTP status of a code.
func (c Code) Status() int {
	switch c {
	case OK:
		return http.StatusOK
	case Invalid, InvalidKey, SizeLimit, DeltaLimit:
		return http.StatusBadRequest
	case Authentication:
		return http.StatusUnauthorized
	case Authorization:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case Unavailable, Exhausted:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// Error is an answer whose code is not OK.
type Error struct {
	Code       Code
	Status     int           // of HTTP; 0: that of the code
	Message    string        // names the parameter and what is allowed
	RetryAfter time.Duration // when to ask again; 0: it is not known
	Err        error         // the cause, for the log; the client does not see it
}

// Errorf returns an error with the status of its code.
func Errorf(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...)}
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("idbuilder: %s (code %d)", e.Message, e.Code) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// HTTPStatus returns Status, or that of the code.
func (e *Error) HTTPStatus() int {
	if e.Status != 0 {
		return e.Status
	}
	return e.Code.Status()
}
