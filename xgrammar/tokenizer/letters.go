package tokenizer

// letters has the letter that stands for each byte in a byte-level tokenizer, and bytesOf the byte of each.
var (
	letters [256]string
	bytesOf [256 + 68]int16 // -1 for a rune that stands for none
)

func init() {
	for i := range bytesOf {
		bytesOf[i] = -1
	}
	other := rune(256)
	for i := range 256 {
		r := rune(i)
		if !(r >= '!' && r <= '~' || r >= '¡' && r <= '¬' || r >= '®') {
			r, other = other, other+1
		}
		letters[i], bytesOf[r] = string(r), int16(i)
	}
}

// appendBytes appends the bytes for which the letters of a token stand, and reports whether all of them stand for one.
func appendBytes(to []byte, token string) ([]byte, bool) {
	start := len(to)
	for _, r := range token {
		if int(r) >= len(bytesOf) || bytesOf[r] < 0 {
			return to[:start], false
		}
		to = append(to, byte(bytesOf[r]))
	}
	return to, true
}

func appendLetters(to, text []byte) []byte {
	for _, b := range text {
		to = append(to, letters[b]...)
	}
	return to
}
