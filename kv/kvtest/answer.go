// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
)

// answer is what one step came to: an error or a result of one kind.
type answer struct {
	kind  string // "", error, value, key, kvs, ranges, fired, ready, versionstamp, version, size
	code  kv.Code
	err   error // an error without a code
	bytes []byte
	kvs   []kv.KeyValue
	read  []kv.KeyRange
	write []kv.KeyRange
	n     int64
	flag  bool
}

// done is the answer of a step that returns nothing.
func done(err error) answer {
	if err == nil {
		return answer{}
	}
	if code := kv.CodeOf(err); code != 0 {
		return answer{kind: "error", code: code, err: err}
	}
	return answer{kind: "error", err: err}
}

// orError returns a, or the error's answer if there is one.
func (a answer) orError(err error) answer {
	if err != nil {
		return done(err)
	}
	return a
}

// equal reports whether two answers are the same. Lists are compared by bytes.
func (a answer) equal(b answer) bool {
	if a.kind != b.kind {
		return false
	}
	if a.kind == "error" {
		return a.code != 0 && a.code == b.code
	}
	return (a.bytes == nil) == (b.bytes == nil) && bytes.Equal(a.bytes, b.bytes) &&
		slices.EqualFunc(a.kvs, b.kvs, samePair) &&
		slices.EqualFunc(a.read, b.read, sameRange) && slices.EqualFunc(a.write, b.write, sameRange) &&
		a.n == b.n && a.flag == b.flag
}

func samePair(a, b kv.KeyValue) bool {
	return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value)
}

func sameRange(a, b kv.KeyRange) bool {
	return bytes.Equal(a.Begin, b.Begin) && bytes.Equal(a.End, b.End)
}

// wantText is the recorded answer of a step.
type wantText struct {
	Error        *int
	Value        *json.RawMessage // null where the key is absent
	Key          *text
	KVs          *[]pairText
	Read, Write  *[][2]text
	Fired, Ready *bool
	Versionstamp *text
	Version      *int64
	Size         *int64
}

// parseWant turns a recorded answer into the answer that must come out.
func parseWant(raw json.RawMessage, known stamps) (answer, error) {
	var w wantText
	if err := json.Unmarshal(raw, &w); err != nil {
		return answer{}, fmt.Errorf("unreadable answer in the recording: %w", err)
	}
	switch {
	case w.Error != nil:
		return answer{kind: "error", code: kv.Code(*w.Error)}, nil
	case bytes.Contains(raw, []byte(`"value"`)):
		return wantValue(w.Value, known)
	case w.Key != nil:
		key, err := w.Key.bytes(known)
		return answer{kind: "key", bytes: key}, err
	case w.KVs != nil:
		kvs, err := resolvePairs(*w.KVs, known)
		return answer{kind: "kvs", kvs: kvs}, err
	case w.Read != nil || w.Write != nil:
		return wantRanges(w, known)
	case w.Versionstamp != nil:
		stamp, err := w.Versionstamp.bytes(known)
		return answer{kind: "versionstamp", bytes: stamp}, err
	}
	return wantScalar(w), nil
}

func wantValue(raw *json.RawMessage, known stamps) (answer, error) {
	if raw == nil || string(*raw) == "null" {
		return answer{kind: "value"}, nil
	}
	var t text
	if err := json.Unmarshal(*raw, &t); err != nil {
		return answer{}, err
	}
	value, err := t.bytes(known)
	return answer{kind: "value", bytes: value}, err
}

func wantScalar(w wantText) answer {
	switch {
	case w.Fired != nil:
		return answer{kind: "fired", flag: *w.Fired}
	case w.Ready != nil:
		return answer{kind: "ready", flag: *w.Ready}
	case w.Version != nil:
		return answer{kind: "version", n: *w.Version}
	case w.Size != nil:
		return answer{kind: "size", n: *w.Size}
	}
	return answer{}
}

func wantRanges(w wantText, known stamps) (answer, error) {
	read, errRead := resolveRanges(w.Read, known)
	write, errWrite := resolveRanges(w.Write, known)
	return answer{kind: "ranges", read: read, write: write}, errors.Join(errRead, errWrite)
}

func resolveRanges(texts *[][2]text, known stamps) ([]kv.KeyRange, error) {
	if texts == nil {
		return nil, nil
	}
	ranges := make([]kv.KeyRange, len(*texts))
	for i, t := range *texts {
		begin, err := t[0].bytes(known)
		if err != nil {
			return nil, err
		}
		end, err := t[1].bytes(known)
		if err != nil {
			return nil, err
		}
		ranges[i] = kv.KeyRange{Begin: begin, End: end}
	}
	return ranges, nil
}

// show prints an answer for people; known stamps appear by their names.
func (a answer) show(known stamps) string {
	switch a.kind {
	case "":
		return "no error"
	case "error":
		return a.showError()
	case "kvs":
		return showPairs(a.kvs, known)
	case "ranges":
		return "read " + showRanges(a.read, known) + " write " + showRanges(a.write, known)
	case "value", "key", "versionstamp":
		return a.kind + " " + showBytes(a.bytes, known)
	case "version", "size":
		return fmt.Sprintf("%s %d", a.kind, a.n)
	}
	return fmt.Sprintf("%s %t", a.kind, a.flag)
}

func (a answer) showError() string {
	if a.code == 0 {
		return "error: " + a.err.Error()
	}
	if a.err == nil {
		return fmt.Sprintf("error %d (%s)", int(a.code), a.code)
	}
	return fmt.Sprintf("error %d (%v)", int(a.code), a.err)
}

func showPairs(kvs []kv.KeyValue, known stamps) string {
	texts := make([]string, len(kvs))
	for i, pair := range kvs {
		texts[i] = showBytes(pair.Key, known) + "=" + showBytes(pair.Value, known)
	}
	return fmt.Sprintf("%d pairs {%s}", len(kvs), strings.Join(texts, ", "))
}

func showRanges(ranges []kv.KeyRange, known stamps) string {
	texts := make([]string, len(ranges))
	for i, r := range ranges {
		texts[i] = "[" + showBytes(r.Begin, known) + ", " + showBytes(r.End, known) + ")"
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// showBytes quotes bytes; long runs are cut and learned stamps are named.
func showBytes(b []byte, known stamps) string {
	if b == nil {
		return "absent"
	}
	for id, stamp := range known {
		if i := bytes.Index(b, stamp); i >= 0 {
			return fmt.Sprintf("%s‹stamp %d.%d›%s", showBytes(b[:i:i], nil), id.Slot, id.N, showBytes(b[i+len(stamp):], nil))
		}
	}
	if len(b) > 80 {
		return fmt.Sprintf("%q…(%d bytes)", b[:40], len(b))
	}
	return fmt.Sprintf("%q", b)
}
