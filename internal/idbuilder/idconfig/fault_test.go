// SPDX-License-Identifier: Apache-2.0

package idconfig_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// faults maps bodies of requests to the beginnings of their faults.
type faults map[string][]string

func (f faults) checkAll(t *testing.T, kind idconfig.Type) {
	t.Helper()
	for body, want := range f {
		r, err := idconfig.Parse(kind, []byte(body), now)
		if err == nil {
			t.Errorf("%s: accepted as %+v", body, r)
			continue
		}
		hasFault(t, body, err, want...)
	}
}

func TestIncrementFaults(t *testing.T) {
	const all = "allowed are -9223372036854775808 to 9223372036854775807"
	faults{
		`{}`:                      {"key: it is missing; allowed are 1 to 255 bytes"},
		`{"key": "k"}`:            {"base: it is missing; " + all},
		`{"key": "", "delta": 0}`: {"key: it is empty", "base: it is missing", "delta: it is 0; allowed are 1 to"},
		`{"name": ""}`:            {"name: it is empty"},
		`{"name": "__k"}`:         {`name: "__k" begins or ends with two underscores`},
		// One parameter in both dialects.
		`{"key": "k", "base": 1, "start": 1}`:                         {"base: start says the same; give one of the two"},
		`{"key": "k", "base": 1, "delta": 1, "step": 1}`:              {"delta: step says the same; give one of the two"},
		`{"name": "k", "base": 1, "start": 1, "delta": 1, "step": 1}`: {"base: start", "delta: step"},
		// Bounds.
		`{"key": "k", "base": 1, "delta": 0}`:                                       {"delta: it is 0; allowed are 1 to 9223372036854775807"},
		`{"key": "k", "base": 1, "delta": -1}`:                                      {"delta: it is -1; allowed are 1 to 9223372036854775807 (for IDs that descend, give a negative step)"},
		`{"name": "k", "step": 0}`:                                                  {"step: it is 0; allowed are -9223372036854775807 to 9223372036854775807, but not 0"},
		`{"name": "k", "step": -9223372036854775808}`:                               {"step: it is -9223372036854775808; allowed are -9223372036854775807 to"},
		`{"key": "k", "base": 1, "max_request_delta": 0}`:                           {"max_request_delta: it is 0, less than the delta; allowed are 1 to"},
		`{"key": "k", "base": 1, "delta": 9, "max_request_delta": 8}`:               {"max_request_delta: it is 8, less than the delta; allowed are 9 to"},
		`{"key": "k", "base": 1, "step": -9, "max_request_delta": 8}`:               {"max_request_delta: it is 8, less than the step; allowed are 9 to"},
		`{"key": "k", "base": 9223372036854775807}`:                                 {"base: the first ID, 9223372036854775807 and 1, is no 64-bit number"},
		`{"key": "k", "base": -9223372036854775808, "step": -1}`:                    {"base: the first ID, -9223372036854775808 and -1, is no"},
		`{"name": "k", "start": -9223372036854775808, "min": -9223372036854775808}`: {"start: -9223372036854775808 less the step, 1, is no"},
		`{"name": "k", "start": 9223372036854775807, "step": -1}`:                   {"start: 9223372036854775807 less the step, -1, is no"},
		`{"key": "k", "base": 9, "min": 11}`:                                        {"base: the first ID is 10; allowed are 11 to 9223372036854775807, from min to max"},
		`{"key": "k", "base": 10, "max": 10}`:                                       {"base: the first ID is 11; allowed are -9223372036854775808 to 10"},
		`{"name": "k", "start": 0}`:                                                 {"start: the first ID is 0; allowed are 1 to 9223372036854775807"},
		`{"name": "k", "max": 0}`:                                                   {"max: min is 1, greater than max, 0"},
		`{"name": "k", "min": 2, "max": 1}`:                                         {"min: min is 2, greater than max, 1"},
		`{"name": "k", "min": 2, "max": 1, "step": 0}`:                              {"step: it is 0", "min: min is 2"},
	}.checkAll(t, idconfig.TypeIncrement)
}

func TestSnowflakeFaults(t *testing.T) {
	specified := func(more string) string { return `{"key": "k", "base_ts": 1673606841000, ` + more + `}` }
	faults{
		`{"key": "k"}`: {
			"base_ts: it is missing; allowed are 0 to now", "ts_size: it is missing; allowed are 32 to 62",
			"worker_id_size: it is missing; allowed are 1 to 21", "seq_size: it is missing; allowed are 1 to 30",
		},
		`{"key": "k", "epoch": 1, "base_ts": 1, "worker_bits": 1, "worker_id_size": 1, "sequence_bits": 1, "seq_size": 1, "ts_size": 41}`: {
			"base_ts: epoch says the same", "worker_id_size: worker_bits says", "seq_size: sequence_bits says",
		},
		specified(`"ts_size": 41, "worker_id_size": 10, "seq_size": 11`):                                                   {"ts_size: skip_size, ts_size, worker_id_size and seq_size sum to 63; they must sum to 64"},
		specified(`"ts_size": 41, "worker_id_size": 10, "seq_size": 13`):                                                   {"ts_size: skip_size, ts_size, worker_id_size and seq_size sum to 65"},
		specified(`"skip_size": -1, "ts_size": -1, "worker_id_size": 0, "seq_size": -1`):                                   {"skip_size: it is -1; allowed are 0 to 30", "ts_size: it is -1; allowed are 32 to 62", "worker_id_size: it is 0; allowed are 1 to 21", "seq_size: it is -1; allowed are 1 to 30"},
		specified(`"skip_size": 31, "ts_size": 63, "worker_id_size": 22, "seq_size": 31`):                                  {"skip_size: it is 31", "ts_size: it is 63", "worker_id_size: it is 22", "seq_size: it is 31"},
		specified(`"skip_size": 9223372036854775807, "ts_size": 9223372036854775807, "worker_id_size": 1, "seq_size": 65`): {"skip_size: it is 9223372036854775807", "ts_size: it is", "seq_size: it is 65"},
		specified(`"ts_size": 31, "worker_id_size": 20, "seq_size": 12`):                                                   {"ts_size: it is 31; allowed are 32 to 62"},
		specified(`"skip_size": 0, "ts_size": 32, "worker_id_size": 20, "seq_size": 12`):                                   {"base_ts: it is 1673606841000, and 32 bits of milliseconds since then have ended; allowed are 1791047862705 to 1795342830000"},
		`{"key": "k", "base_ts": 1791047862704, "skip_size": 0, "ts_size": 32, "worker_id_size": 20, "seq_size": 12}`:      {"base_ts: it is 1791047862704, and 32 bits"},
		`{"key": "k", "base_ts": -1, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`:                                 {"base_ts: it is -1; allowed are 0 to 1795342830000"},
		`{"key": "k", "base_ts": -9223372036854775808, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`:               {"base_ts: it is -9223372036854775808; allowed are 0 to"},
		`{"key": "k", "base_ts": 1795342830001, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`:                      {"base_ts: it is 1795342830001; allowed are 0 to 1795342830000, which is now"},
		// The deployed worker's names, where the request uses them.
		`{"name": "k", "epoch": -1}`:                                                                                                       {"epoch: it is -1; allowed are 0 to"},
		`{"name": "k", "worker_bits": 15, "sequence_bits": 10}`:                                                                            {"worker_bits: worker_bits and sequence_bits sum to 25; allowed are 2 to 22"},
		`{"name": "k", "worker_bits": 0, "sequence_bits": 0}`:                                                                              {"worker_bits: it is 0; allowed are 1 to 21", "sequence_bits: it is 0; allowed are 1 to 30"},
		`{"key": "k", "worker_id_bits": 22, "epoch_ts": -1, "seq_size": 1}`:                                                                {"worker_id_bits: it is 22"},
		`{"key": "k", "worker_id_bits": 10, "epoch_ts": -1, "sequence_bits": 12}`:                                                          {"epoch_ts: it is -1"},
		`{"key": "k", "worker_id_bits": 1, "worker_bits": 1, "worker_id_size": 1, "epoch_ts": 1, "epoch": 1, "base_ts": 1, "seq_size": 1}`: {"base_ts: epoch says", "worker_id_size: worker_bits says", "base_ts: epoch_ts says", "epoch: epoch_ts says", "worker_id_size: worker_id_bits says", "worker_bits: worker_id_bits says"},
		`{"name": "k", "worker_bits": 13}`:                                                                                                 {"worker_bits: worker_bits and sequence_bits sum to 25"},
		`{"key": "k", "epoch": 1, "worker_bits": 22, "seq_size": 1}`:                                                                       {"worker_bits: it is 22"},
		`{"name": "k", "sequence_bits": 255}`:                                                                                              {"sequence_bits: it is 255"},
		`{"name": "k", "ts_size": 40}`:                                                                                                     {"ts_size: skip_size, ts_size, worker_bits and sequence_bits sum to 63"},
	}.checkAll(t, idconfig.TypeSnowflake)
}

func TestFormattedFaults(t *testing.T) {
	faults{
		`{"key": "k"}`:                                   {"parts: they are missing; allowed are 1 to 32 parts, or a pattern"},
		`{"key": "k", "parts": []}`:                      {"parts: they are missing"},
		`{"key": "k", "parts": null}`:                    {"parts: they are missing"},
		`{"key": "k", "parts": [null]}`:                  {`parts[0].type: "" is unknown; allowed are fixed-chars, `},
		`{"key": "k", "parts": [], "pattern": "{UUID}"}`: {"parts: pattern says the same"},
		`{"key": "k", "parts": [{"type": "auto-increment"}], "sequence_reset": "daily"}`: {"sequence_reset: it belongs to a pattern; in parts, give the auto-increment part a reset_scope"},
		`{"key": "k", "sequence_reset": "daily"}`:                                        {"sequence_reset: it belongs to a pattern"},
		`{"key": "k", "parts": [{"type": "fixed-chars", "value": "x"}]}`:                 {"parts: IDs could not be unique"},
		`{"key": "k", "parts": [{"type": "x"}, {"type": "fixed-chars"}, {"type": "auto-increment", "number_base": 37, "padding_mode": "both"}]}`: {
			`parts[0].type: "x" is unknown`, "parts[1].value: 0 bytes, allowed are 1 to 256",
			"parts[2].number_base: 37 as the base, allowed are 2 to 36", `parts[2].padding_mode: "both" is neither`,
		},
		`{"key": "k", "parts": [{"type": "auto-increment", "reset_scope": "date"}]}`: {"parts[0].reset_scope: IDs would repeat"},
		// Patterns: faults name the parameters of patterns.
		`{"name": "k", "pattern": ""}`:                                        {"pattern: it is empty; it needs {SEQ:N}, {RAND:N} or {UUID}"},
		`{"name": "k", "pattern": "INV"}`:                                     {"pattern: IDs could not be unique"},
		`{"name": "k", "pattern": "{NO}{SEQ:4}"}`:                             {"pattern: at byte 1: the placeholder {NO} is unknown; allowed are {YYYY}"},
		`{"name": "k", "pattern": "A{SEQ:21}"}`:                               {`pattern: at byte 2: "21" is not a number from 1 to 20`},
		`{"name": "k", "pattern": "{SEQ:4"}`:                                  {"pattern: at byte 1: a brace is not closed"},
		`{"name": "k", "pattern": "{SEQ:1}-{SEQ:2}"}`:                         {"pattern: {SEQ:N} stands twice"},
		`{"name": "k", "pattern": "{SEQ:4}", "sequence_reset": "hourly"}`:     {`sequence_reset: "hourly" is none of never, daily, monthly, yearly`},
		`{"name": "k", "pattern": "{SEQ:4}", "sequence_reset": "daily"}`:      {"sequence_reset: numbers would begin anew without the IDs showing when"},
		`{"name": "k", "pattern": "` + strings.Repeat("x", 300) + `{SEQ:4}"}`: {"pattern: parts[0].value: 300 bytes, allowed are 1 to 256"},
	}.checkAll(t, idconfig.TypeFormatted)
}

// TestJSONFaults: a fault of the JSON names the member as the client wrote it, and says what is
// allowed.
func TestJSONFaults(t *testing.T) {
	const number = "wanted is a whole number from -9223372036854775808 to 9223372036854775807"
	faults{
		``:                                     {"body: it is empty; wanted is a JSON object"},
		" \n":                                  {"body: it is empty"},
		`null`:                                 {"body: it is null; wanted is an object"},
		`[{"key": "k"}]`:                       {"body: it is an array; wanted is an object"},
		`"k"`:                                  {`body: it is the text "k"; wanted is an object`},
		`7`:                                    {"body: it is the number 7; wanted is an object"},
		`{"key": "k"`:                          {"body: it is not JSON: it ends in the middle, after byte 11"},
		`{"key": `:                             {"body: it is not JSON: it ends in the middle"},
		`{"key" "k"}`:                          {"body: it is not JSON: invalid character '\"' after object key, near byte "}, // the versions of Go count differently
		`{'key': "k"}`:                         {"body: it is not JSON: "},
		`{"key": "k", "base": 1,}`:             {"body: it is not JSON: "},
		`{"key": "k", "base": 01}`:             {"body: it is not JSON: "},
		`{"key": "k", "base": 1} x`:            {"body: there is more after the JSON object, which ends with byte 23"},
		`{"key": "k", "base": 1}{}`:            {"body: there is more after the JSON object"},
		"{\"key\": \"k\xff\"}":                 {"body: it is not UTF-8"},
		`{"key": 7}`:                           {"key: it is the number 7; wanted is a text"},
		`{"key": ["k"]}`:                       {"key: it is an array; wanted is a text"},
		`{"key": {"a": [1, {}]}, "base": "1"}`: {"key: it is an object; wanted is a text", `base: it is the text "1"; ` + number},
		`{"key": "k", "base": 1.0}`:            {"base: it is the number 1.0; " + number},
		`{"key": "k", "base": 1e3}`:            {"base: it is the number 1e3; " + number},
		`{"key": "k", "base": 9223372036854775808}`:            {"base: it is the number 9223372036854775808; " + number},
		`{"key": "k", "base": true}`:                           {"base: it is true; " + number},
		`{"key": "k", "base": 1, "rand_delta": 1, "delta": 0}`: {"rand_delta: it is the number 1; wanted is true or false", "delta: it is 0"}, // a wrong type hides no other fault
		`{"key": "k", "base": "x", "max_request_delta": 0}`:    {`base: it is the text "x"; ` + number, "max_request_delta: it is 0"},
		`{"key": "k", "base": 1, "force": "yes"}`:              {`force: it is the text "yes"; wanted is true or false`},
		`{"key": "k", "key": "l"}`:                             {"key: it stands twice"},
		// Unknown members, even those that differ only in case.
		`{"key": "k", "Base": 1}`:                                     {"Base: there is no such parameter; did you mean base?"},
		`{"key": "k", "detla": 1}`:                                    {"detla: there is no such parameter; did you mean delta?"},
		`{"key": "k", "max_req_delta": {"a": 1}, "rnad_delta": [[]]}`: {"max_req_delta: there is no such parameter; did you mean max_request_delta?", "rnad_delta: there is no such parameter; did you mean rand_delta?"},
		`{"key": "k", "colour": 1}`:                                   {"colour: there is no such parameter; allowed are key, name, key_token_enable, force, base, start, delta, step, max_request_delta, rand_delta, min, max"},
		`{"key": "k", "": 1}`:                                         {": there is no such parameter; "},
		`{"key": "k", "` + strings.Repeat("x", 1000) + `": 1}`:        {strings.Repeat("x", 40) + `"… (1000 bytes): there is no such parameter; allowed are key`},
	}.checkAll(t, idconfig.TypeIncrement)
	faults{
		`{"key": "k", "parts": {}}`:       {"parts: it is an object; wanted is an array"},
		`{"key": "k", "parts": "x"}`:      {`parts: it is the text "x"; wanted is an array`},
		`{"key": "k", "parts": ["x", 1]}`: {`parts[0]: it is the text "x"; wanted is an object`, "parts[1]: it is the number 1; wanted is an object"},
		`{"key": "k", "parts": [{"type": "fixed-chars", "value": 1}, {"type": "auto-increment", "lenght": 4, "length_fixed": 1}]}`: {
			"parts[0].value: it is the number 1; wanted is a text", "parts[1].lenght: there is no such parameter; did you mean length?",
			"parts[1].length_fixed: it is the number 1; wanted is true or false",
		},
	}.checkAll(t, idconfig.TypeFormatted)
}

// TestManyFaults: the number of faults in an answer is bounded.
func TestManyFaults(t *testing.T) {
	var body strings.Builder
	body.WriteString(`{"key": "k"`)
	for i := range 10_000 {
		fmt.Fprintf(&body, `, "%0100d": 1`, i)
	}
	body.WriteString("}")
	_, err := idconfig.Parse(idconfig.TypeIncrement, []byte(body.String()), now)
	if err == nil || len(err.Error()) > 10_000 {
		t.Errorf("the error is %.100v", err)
	}
	deep := `{"key": "k", "x": ` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}"
	_, err = idconfig.Parse(idconfig.TypeIncrement, []byte(deep), now)
	if err == nil || !strings.Contains(err.Error(), "exceeded max depth") { // from Go 1.27
		hasFault(t, "a deep value", err, "x: there is no such parameter")
	}
}

func TestUnknownType(t *testing.T) {
	_, err := idconfig.Parse("uuid", []byte(`{"key": "k"}`), now)
	hasFault(t, "uuid", err, `id_type: "uuid" is not a type; allowed are increment, snowflake and formatted`)
}

// TestKeyFaultsAreTold: faults of keys can be told from those of other parameters.
func TestKeyFaultsAreTold(t *testing.T) {
	_, err := idconfig.Parse(idconfig.TypeIncrement, []byte(`{"key": "a#b", "base": 1}`), now)
	if !errors.Is(err, idconfig.ErrKey) {
		t.Errorf("%v does not wrap ErrKey", err)
	}
	_, err = idconfig.Parse(idconfig.TypeIncrement, []byte(`{"key": "ab", "base": 1, "delta": 0}`), now)
	if err == nil || errors.Is(err, idconfig.ErrKey) {
		t.Errorf("%v wraps ErrKey", err)
	}
}
