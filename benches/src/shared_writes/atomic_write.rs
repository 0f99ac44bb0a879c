//! Which instructions write atomically, and where.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};
use libc::user_regs_struct;

/// The longest instruction of x86_64, in bytes.
pub const INSTRUCTION_BYTES_MAX: usize = 15;

/// What a step of a thread may be, besides any other instruction.
#[derive(Clone, Copy, Debug)]
pub enum StepKind {
    /// An instruction with a LOCK prefix, or an exchange with memory, which locks without one.
    AtomicWrite(Instruction),
    Call,
    SystemCall,
    Other,
}

impl StepKind {
    /// The kind of the instruction that `code` begins with, which is at the address `at`.
    pub fn decode(code: &[u8], at: u64) -> Self {
        let instruction = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
        let has_memory =
            (0..instruction.op_count()).any(|index| instruction.op_kind(index) == OpKind::Memory);
        let is_exchange = matches!(
            instruction.code(),
            Code::Xchg_rm8_r8 | Code::Xchg_rm16_r16 | Code::Xchg_rm32_r32 | Code::Xchg_rm64_r64
        );
        if has_memory && (instruction.has_lock_prefix() || is_exchange) {
            return Self::AtomicWrite(instruction);
        }
        match instruction.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall
                if instruction.code() == Code::Syscall =>
            {
                Self::SystemCall
            }
            FlowControl::Call | FlowControl::IndirectCall => Self::Call,
            _ => Self::Other,
        }
    }
}

/// The address that an atomic write accesses, by the registers before it.
pub fn written_address(instruction: &Instruction, registers: &user_regs_struct) -> Option<u64> {
    let operand =
        (0..instruction.op_count()).find(|index| instruction.op_kind(*index) == OpKind::Memory)?;
    instruction.virtual_address(operand, 0, |register, _, _| {
        Some(match register {
            Register::RAX => registers.rax,
            Register::RBX => registers.rbx,
            Register::RCX => registers.rcx,
            Register::RDX => registers.rdx,
            Register::RSI => registers.rsi,
            Register::RDI => registers.rdi,
            Register::RBP => registers.rbp,
            Register::RSP => registers.rsp,
            Register::R8 => registers.r8,
            Register::R9 => registers.r9,
            Register::R10 => registers.r10,
            Register::R11 => registers.r11,
            Register::R12 => registers.r12,
            Register::R13 => registers.r13,
            Register::R14 => registers.r14,
            Register::R15 => registers.r15,
            Register::FS => registers.fs_base,
            Register::GS => registers.gs_base,
            Register::CS | Register::DS | Register::ES | Register::SS => 0,
            _ => return None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atomic_write_is_known_with_its_address() {
        // SAFETY: registers are numbers.
        let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
        registers.rax = 0x1000;
        registers.rcx = 2;
        registers.fs_base = 0x7000;
        for (name, code, address) in [
            (
                "lock inc qword [rax]",
                &[0xf0, 0x48, 0xff, 0x00][..],
                Some(0x1000),
            ),
            (
                "lock add dword [rax+rcx*8+4], 1",
                &[0xf0, 0x83, 0x44, 0xc8, 0x04, 0x01],
                Some(0x1014),
            ),
            (
                "lock cmpxchg [rip+16], ecx",
                &[0xf0, 0x0f, 0xb1, 0x0d, 16, 0, 0, 0],
                Some(0x418),
            ),
            ("xchg [rax], ecx", &[0x87, 0x08], Some(0x1000)),
            (
                "lock dec dword fs:[rax]",
                &[0x64, 0xf0, 0xff, 0x08],
                Some(0x8000),
            ),
            ("xchg rax, rcx", &[0x48, 0x91], None),
            ("xchg ecx, eax", &[0x87, 0xc8], None),
            ("inc qword [rax]", &[0x48, 0xff, 0x00], None),
        ] {
            let found = match StepKind::decode(code, 0x400) {
                StepKind::AtomicWrite(instruction) => written_address(&instruction, &registers),
                _ => None,
            };
            assert_eq!(found, address, "{name}");
        }
        assert!(matches!(
            StepKind::decode(&[0x0f, 0x05], 0),
            StepKind::SystemCall
        ));
        assert!(matches!(StepKind::decode(&[0xff, 0xd0], 0), StepKind::Call));
        assert!(matches!(StepKind::decode(&[0xc3], 0), StepKind::Other));
    }
}
