// Reads members of a JSON text where they are, without building values for the rest of it.
//
// A position is the place of a value's first byte; -1 stands for "there is none", and all functions accept it.

const QUOTE: u8 = 0x22;
const BACKSLASH: u8 = 0x5c;

export class JsonText {
  constructor(private bytes: Uint8Array) {}

  // The value of the whole text, if it is an object.
  root(): i32 {
    const at = this.skipSpace(0);
    return this.byte(at) == 0x7b ? at : -1;
  }

  // The value of an object's member.
  member(object: i32, name: string): i32 {
    const members = this.members(object);
    const names = this.names(object);
    for (let index = 0; index < names.length; index++) {
      if (names[index] == name) return members[index];
    }
    return -1;
  }

  // The names of an object's members.
  names(object: i32): string[] {
    const names: string[] = [];
    for (let at = this.first(object); at >= 0; at = this.next(at)) {
      names.push(this.text(at));
    }
    return names;
  }

  // The number at a position; NaN if there is none.
  number(at: i32): f64 {
    const first = this.byte(at);
    const isNumber = first == 0x2d || (first >= 0x30 && first <= 0x39);
    return isNumber ? parseFloat(this.slice(at, this.end(at))) : NaN;
  }

  // The string at a position; empty if there is none. The names of models and members have no other escapes than `\"`,
  // `\\` and `\/`.
  text(at: i32): string {
    if (this.byte(at) != QUOTE) return "";
    const text = this.slice(at + 1, this.end(at) - 1);
    return text.includes("\\") ? text.replaceAll("\\/", "/").replaceAll('\\"', '"').replaceAll("\\\\", "\\") : text;
  }

  // The values of an object's members, in the order of their names.
  private members(object: i32): i32[] {
    const members: i32[] = [];
    for (let at = this.first(object); at >= 0; at = this.next(at)) {
      members.push(this.valueOf(at));
    }
    return members;
  }

  // The first name in an object.
  private first(object: i32): i32 {
    if (this.byte(object) != 0x7b) return -1;
    const at = this.skipSpace(object + 1);
    return this.byte(at) == QUOTE ? at : -1;
  }

  // The name after a name.
  private next(name: i32): i32 {
    let at = this.skipSpace(this.end(this.valueOf(name)));
    if (this.byte(at) != 0x2c) return -1;
    at = this.skipSpace(at + 1);
    return this.byte(at) == QUOTE ? at : -1;
  }

  private valueOf(name: i32): i32 {
    // Over the colon.
    return this.skipSpace(this.skipSpace(this.end(name)) + 1);
  }

  // The place after a value.
  private end(at: i32): i32 {
    let depth = 0;
    do {
      const byte = this.byte(at);
      if (byte == QUOTE) {
        at = this.endOfString(at);
        continue;
      }
      if (byte == 0x7b || byte == 0x5b) depth++;
      if (byte == 0x7d || byte == 0x5d) depth--;
      at++;
      if (depth == 0 && byte != 0x7d && byte != 0x5d) at = this.endOfScalar(at);
    } while (depth > 0 && at < this.bytes.length);
    return at;
  }

  private endOfString(at: i32): i32 {
    for (at++; at < this.bytes.length; at++) {
      const byte = unchecked(this.bytes[at]);
      if (byte == QUOTE) return at + 1;
      if (byte == BACKSLASH) at++;
    }
    return this.bytes.length;
  }

  private endOfScalar(at: i32): i32 {
    for (; at < this.bytes.length; at++) {
      const byte = unchecked(this.bytes[at]);
      if (byte <= 0x20 || byte == 0x2c || byte == 0x7d || byte == 0x5d) break;
    }
    return at;
  }

  private skipSpace(at: i32): i32 {
    while (at >= 0 && at < this.bytes.length && unchecked(this.bytes[at]) <= 0x20) at++;
    return at;
  }

  // The byte at a place; 0 outside of the text.
  private byte(at: i32): u8 {
    return at >= 0 && at < this.bytes.length ? unchecked(this.bytes[at]) : 0;
  }

  private slice(from: i32, to: i32): string {
    const length = max(min(to, this.bytes.length) - from, 0);
    return String.UTF8.decodeUnsafe(this.bytes.dataStart + from, length);
  }
}
