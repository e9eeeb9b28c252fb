// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// request is a request to the service. It may be sent more than once.
type request struct {
	method, path string
	query        url.Values
	body         []byte // JSON; nil: none
	// read reads the data of the answer; nil: it has none.
	read func(data json.RawMessage) error
}

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 16 << 20

// envelope is an answer whose data is not read yet.
type envelope struct {
	Code    *api.Code       `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// withoutURL leaves the URL out of an error of net/http: its query may have a
// lease key.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// readAnswer reads an answer: an [*api.Error] if the service refuses, an [*AnswerError] if
// it is not the service's.
func readAnswer(response *http.Response, body []byte, read func(json.RawMessage) error) error {
	if len(body) > maxAnswer {
		return &AnswerError{response.StatusCode, fmt.Sprintf("it is larger than %d bytes", maxAnswer), nil}
	}
	var answer envelope
	err := json.Unmarshal(body, &answer)
	to := access.RedirectOrigin(response)
	switch {
	case (err != nil || answer.Code == nil) && response.StatusCode >= 400:
		return proxyRefusal(response, body)
	case to != "":
		return &AnswerError{response.StatusCode, "it redirects to " + to + ", which the client does not follow: give the URL of the service itself", nil}
	case err != nil:
		return &AnswerError{response.StatusCode, "it is no JSON", err}
	case answer.Code == nil:
		return &AnswerError{response.StatusCode, "it has no code", nil}
	case *answer.Code != api.OK:
		return &api.Error{Code: *answer.Code, Status: response.StatusCode, Message: answer.Message, RetryAfter: retryAfter(response)}
	case response.StatusCode != http.StatusOK:
		return &AnswerError{response.StatusCode, "its code is 0", nil}
	case read == nil:
		return nil
	}
	if err := read(answer.Data); err != nil {
		return &AnswerError{response.StatusCode, "its data cannot be read", err}
	}
	return nil
}

// proxyRefusal returns the refusal of a proxy in front of the service.
func proxyRefusal(response *http.Response, body []byte) error {
	code := api.Internal
	switch status := response.StatusCode; {
	case status == http.StatusUnauthorized:
		code = api.Authentication
	case status == http.StatusForbidden:
		code = api.Authorization
	case status == http.StatusTooManyRequests, status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		code = api.Unavailable
	case status < 500:
		code = api.Invalid
	}
	return &api.Error{
		Code: code, Status: response.StatusCode, RetryAfter: retryAfter(response),
		Message: fmt.Sprintf("%s, and not in the ID service's form: %.100q", response.Status, body),
	}
}

// retryAfter returns how long the answer says to wait; 0: it does not.
func retryAfter(response *http.Response) time.Duration {
	text := strings.TrimSpace(response.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
