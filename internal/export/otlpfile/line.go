package otlpfile

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// appendLine appends a message of OTLP as one line. protojson writes ids in base64,
// as for all bytes; OTLP wants them in hexadecimal.
func appendLine(to []byte, m proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(m)
	if err != nil {
		return to, fmt.Errorf("lens: OTLP as JSON: %w", err)
	}
	to, err = appendHexIDs(to, text)
	return append(to, '\n'), err
}

// appendHexIDs appends JSON from protojson with the ids in hexadecimal, and without
// the blanks that it puts between tokens at random. Names of members are those of
// fields, never text of the application, which is always a value.
func appendHexIDs(to, text []byte) ([]byte, error) {
	id := false // the value to come is one
	for i := 0; i < len(text); {
		c := text[i]
		if c != '"' {
			if c != ' ' {
				to = append(to, c)
			}
			i++
			continue
		}
		end := i + 1
		for text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		token := text[i+1 : end]
		i = end + 1
		isName := i < len(text) && text[i] == ':'
		if id && !isName {
			var raw [24]byte
			n, err := base64.StdEncoding.Decode(raw[:], token)
			if err != nil || len(token) > 24 {
				return to, fmt.Errorf("lens: OTLP as JSON: an id is %q", token)
			}
			to = append(to, '"')
			to = hex.AppendEncode(to, raw[:n])
			to = append(to, '"')
		} else {
			to = append(to, text[end-len(token)-1:end+1]...)
		}
		id = isName && isID(token)
	}
	return to, nil
}

func isID(name []byte) bool {
	switch string(name) {
	case "traceId", "spanId", "parentSpanId":
		return true
	}
	return false
}
