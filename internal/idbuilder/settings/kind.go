// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is the kind of a key's values.
type kind interface {
	// parseValue returns the value of a text, from the environment or a flag, or of a
	// value of TOML.
	parseValue(raw any) (any, error)
	// checkValue reports a value that is not allowed.
	checkValue(value any) error
	// describeAllowed describes the values that are.
	describeAllowed() string
}

// hider is a kind of values that can hold a password.
type hider interface{ hidesValues() }

// words is a text from the environment or a flag; numbers are parsed from it.
type words string

// textOf returns a text from any source.
func textOf(raw any) (string, error) {
	switch raw := raw.(type) {
	case words:
		return string(raw), nil
	case string:
		return raw, nil
	}
	return "", errors.New("it must be a string, in quotes")
}

// text is any string.
type text struct{}

func (text) parseValue(raw any) (any, error) { return textOf(raw) }
func (text) checkValue(any) error            { return nil }
func (text) describeAllowed() string         { return "text" }

// choice is one of some words; a=b stands for a, which is another word for b.
type choice []string

func (c choice) parseValue(raw any) (any, error) {
	word, err := textOf(raw)
	for _, w := range c {
		if other, meant, ok := strings.Cut(w, "="); ok && other == word {
			return meant, nil
		}
	}
	return word, err
}

func (c choice) checkValue(value any) error {
	if w := value.(string); !slices.Contains(c, w) || strings.Contains(w, "=") {
		return errors.New("allowed are " + c.describeAllowed())
	}
	return nil
}

func (c choice) describeAllowed() string {
	list := make([]string, len(c))
	for i, w := range c {
		list[i], _, _ = strings.Cut(w, "=")
	}
	return strings.Join(list, ", ")
}

// integer is a whole number.
type integer struct{ min, max int }

func (integer) parseValue(raw any) (any, error) {
	switch raw := raw.(type) {
	case words:
		if n, err := strconv.Atoi(string(raw)); err == nil {
			return n, nil
		}
	case int64:
		if int64(int(raw)) == raw {
			return int(raw), nil
		}
	}
	return nil, errors.New("it must be a whole number")
}

func (k integer) checkValue(value any) error {
	if n := value.(int); n < k.min || n > k.max {
		return errors.New("allowed are " + k.describeAllowed())
	}
	return nil
}

func (k integer) describeAllowed() string { return fmt.Sprintf("%d to %d", k.min, k.max) }

// number is a number with or without a fraction.
type number struct{ min, max float64 }

func (number) parseValue(raw any) (any, error) {
	switch raw := raw.(type) {
	case words:
		if n, err := strconv.ParseFloat(string(raw), 64); err == nil {
			return n, nil
		}
	case int64:
		return float64(raw), nil
	case float64:
		return raw, nil
	}
	return nil, errors.New("it must be a number")
}

func (k number) checkValue(value any) error {
	if n := value.(float64); !(n >= k.min && n <= k.max) { // NaN is neither
		return errors.New("allowed are " + k.describeAllowed())
	}
	return nil
}

func (k number) describeAllowed() string { return fmt.Sprintf("%.0f to %.0f", k.min, k.max) }

// boolean is true or false.
type boolean struct{}

func (boolean) parseValue(raw any) (any, error) {
	switch raw := raw.(type) {
	case words:
		if b, err := strconv.ParseBool(string(raw)); err == nil {
			return b, nil
		}
	case bool:
		return raw, nil
	}
	return nil, errors.New("it must be true or false")
}

func (boolean) checkValue(any) error    { return nil }
func (boolean) describeAllowed() string { return "true, false" }

// span is a duration, in seconds or as text.
type span struct{ min, max time.Duration }

func (span) parseValue(raw any) (any, error) {
	text, isText := raw.(string)
	switch raw := raw.(type) {
	case int64:
		return seconds(float64(raw))
	case float64:
		return seconds(raw)
	case words:
		if n, err := strconv.ParseFloat(string(raw), 64); err == nil {
			return seconds(n)
		}
		text, isText = string(raw), true
	}
	if d, err := time.ParseDuration(text); isText && err == nil {
		return d, nil
	}
	return nil, errNoDuration
}

var errNoDuration = errors.New(`it must be a number of seconds, or a duration such as "1m30s"`)

func seconds(n float64) (any, error) {
	if ns := n * float64(time.Second); math.Abs(ns) < math.MaxInt64 { // not NaN either
		return time.Duration(ns), nil
	}
	return nil, errNoDuration
}

func (k span) checkValue(value any) error {
	if d := value.(time.Duration); d < k.min || d > k.max {
		return errors.New("allowed are " + k.describeAllowed())
	}
	return nil
}

func (k span) describeAllowed() string { return fmt.Sprintf("%s to %s", brief(k.min), brief(k.max)) }

// brief formats a duration without the units that are zero.
func brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// path is that of a page.
type path struct{ text }

func (path) checkValue(value any) error {
	if p := value.(string); !strings.HasPrefix(p, "/") || strings.ContainsAny(p, "{}? #") || len(p) < 2 || strings.HasSuffix(p, "/") {
		return errors.New("it must be a path such as /metrics")
	}
	return nil
}

func (path) describeAllowed() string { return "a path" }

// address is host:port, or nothing.
type address struct{ text }

func (address) checkValue(value any) error {
	a := value.(string)
	if a == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(a)
	if n, numeric := strconv.Atoi(port); err != nil || numeric != nil || n < 0 || n > 65535 {
		return errors.New("it must be host:port, such as 127.0.0.1:8081")
	}
	return nil
}

func (address) describeAllowed() string { return "host:port" }

// endpoint is a base URL of HTTP, several of them, or nothing.
type endpoint struct{ text }

func (endpoint) checkValue(value any) error {
	if value == "" {
		return nil
	}
	for one := range strings.SplitSeq(value.(string), ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
			return errors.New("it must be a URL such as http://controller:8090, without a user or query")
		}
	}
	return nil
}

func (endpoint) describeAllowed() string { return "http or https URL" }

// ignoredKey is the kind of a key of the deployed worker that has no effect here.
type ignoredKey struct{ reason string }

func (ignoredKey) parseValue(raw any) (any, error) { return fmt.Sprint(raw), nil }
func (ignoredKey) checkValue(any) error            { return nil }
func (ignoredKey) describeAllowed() string         { return "anything" }

// Threshold is how much of a reserved range is left when the next one is
// reserved: a fraction of the range, or a count of numbers, as the deployed
// worker has it. Whole numbers are counts.
type Threshold struct {
	Fraction float64 // 0 to 1, if Count is 0
	Count    int
}

// String returns the threshold as it is written in a configuration.
func (t Threshold) String() string {
	if t.Count > 0 {
		return strconv.Itoa(t.Count)
	}
	return strconv.FormatFloat(t.Fraction, 'f', -1, 64)
}

// Of returns the threshold as a fraction of a range with n numbers, from 0 to 1.
func (t Threshold) Of(n int) float64 {
	if t.Count > 0 {
		return min(1, float64(t.Count)/float64(n))
	}
	return t.Fraction
}

// remainder is a [Threshold].
type remainder struct{}

func (remainder) parseValue(raw any) (any, error) {
	if t, ok := raw.(words); ok {
		if n, err := strconv.ParseInt(string(t), 10, 64); err == nil {
			raw = n
		} else if f, err := strconv.ParseFloat(string(t), 64); err == nil {
			raw = f
		}
	}
	switch n := raw.(type) {
	case int64:
		return Threshold{Count: int(n)}, nil
	case float64:
		return Threshold{Fraction: n}, nil
	}
	return nil, errors.New("it must be a number")
}

func (k remainder) checkValue(value any) error {
	t := value.(Threshold)
	if t.Count < 0 || t.Count > 1_000_000_000 || !(t.Fraction >= 0 && t.Fraction <= 1) { // NaN is neither
		return errors.New("allowed are " + k.describeAllowed())
	}
	return nil
}

func (remainder) describeAllowed() string {
	return "0.0 to 1.0, a fraction, or 0 to 1000000000, a count without a decimal point"
}
