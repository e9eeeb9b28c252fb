// SPDX-License-Identifier: Apache-2.0

package http

import "fmt"

// StatusError is an answer of the server that is no error of package lease.
type StatusError struct {
	Status int    // the HTTP status
	Code   string // of the problem; empty if the answer was none
	Detail string
}

// Error names status, code and detail.
func (e *StatusError) Error() string {
	return fmt.Sprintf("lease/http: %d %s: %s", e.Status, e.Code, e.Detail)
}

// newStatusError returns an error of the protocol.
func newStatusError(status int, code, format string, args ...any) error {
	return &StatusError{Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}
