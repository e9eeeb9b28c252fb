// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// readJSON reads the body: one JSON value, without members that the service does not know.
func readJSON(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil && d.Decode(new(json.RawMessage)) != io.EOF {
		err = errors.New("something follows the JSON value")
	}
	if tooLarge := as[*http.MaxBytesError](err); tooLarge != nil {
		return problemf(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", tooLarge.Limit)
	}
	if err != nil {
		return problemf(http.StatusBadRequest, "body: %v", err)
	}
	return nil
}

// pathID returns the ID in the path. What is not an ID names no record: a 404.
func pathID(r *http.Request) (idgen.ID, error) {
	id, err := idgen.Parse(r.PathValue("id"))
	if err != nil {
		return 0, persistable.ErrNotFound
	}
	return id, nil
}

// checkParameters refuses a query that cannot be read, and parameters that are not known.
func checkParameters(r *http.Request, known []string) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return problemf(http.StatusBadRequest, "query: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) {
			return problemf(http.StatusBadRequest, "unknown parameter %q: this address knows %q", name, known)
		}
	}
	return nil
}

// pageOf returns the parameters of a page.
func pageOf(r *http.Request) (limit int, token string, err error) {
	limit, token = 20, r.FormValue("page")
	if text := r.FormValue("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > 100 {
			return 0, "", problemf(http.StatusBadRequest, "limit: %q, want a number from 1 to 100", text)
		}
	}
	return limit, token, nil
}

// parameter reads a parameter of the query, if it is there.
func parameter(r *http.Request, name string, into interface{ UnmarshalText([]byte) error }) (present bool, err error) {
	text := r.FormValue(name)
	if text == "" {
		return false, nil
	}
	if err := into.UnmarshalText([]byte(text)); err != nil {
		return false, problemf(http.StatusBadRequest, "%v", err)
	}
	return true, nil
}

// ifMatch returns the version in the header If-Match, nil for "*", which any version
// matches. Without the header a change could overwrite what the client has not seen: a 428.
func ifMatch(r *http.Request) (*persistable.Version, error) {
	tag := r.Header.Get("If-Match")
	switch tag {
	case "":
		return nil, problemf(http.StatusPreconditionRequired, "the header If-Match is missing: send the ETag of the ticket as you have read it, or * for any")
	case "*":
		return nil, nil
	}
	v := new(persistable.Version)
	if err := v.UnmarshalText([]byte(strings.Trim(tag, `"`))); err != nil {
		return nil, problemf(http.StatusPreconditionFailed, "If-Match: %q is not the ETag of a ticket", tag)
	}
	return v, nil
}
